local app = require "sampan"
local db = app.db

local is_server = db.dialect() == "postgres"
-- SQL that the two databases write in different words.
local kind = is_server and "pg_typeof(:max)::text" or "typeof(:max)"
local bytes = is_server and [[SELECT upper(encode(?, 'hex')) AS h, pg_typeof(CAST(? AS bytea))::text AS t, '\x00ff10'::bytea AS b]]
  or "SELECT hex(?) AS h, typeof(?) AS t, x'00ff10' AS b"

app.get("/text", function()
  local row = db.one("SELECT ? AS a, ? AS b, length(?) AS c", { "", "é🛶", "é🛶" })
  return row
end)
app.get("/nul", function() return db.one("SELECT length(?) AS c", { "a\0b" }) end)
app.get("/numbers", function()
  local row = db.one("SELECT ? AS a, ? AS b, ? AS c, ? AS d", { 0.1, -5, true, false })
  return row
end)
app.get("/typed", function()
  local sql = "SELECT CAST(? AS double precision) AS a, CAST(? AS bigint) AS b, CAST(? AS bigint) AS c, CAST(? AS bigint) AS d"
  return db.one(sql, { 0.1, -5, true, false })
end)
app.get("/as-text", function() return db.one("SELECT CAST(? AS text) AS a", { 2 ^ 53 }) end)
app.get("/big", function()
  local row = db.one("SELECT 9223372036854775807 AS max, -9223372036854775807 - 1 AS min, 9007199254740992 AS exact")
  local back = db.one("SELECT :max = 9223372036854775807 AS same, " .. kind .. " AS kind", { max = row.max })
  return { row = row, back = back }
end)
app.get("/blob", function()
  local row = db.one(bytes, { "\255\0\1", "\255\0\1" })
  return { h = row.h, t = row.t, len = #row.b, last = row.b:byte(3) }
end)
app.get("/null", function()
  local sql = "SELECT CAST(? AS text) IS NULL AS a, CAST(? AS text) IS NULL AS b, CAST(? AS bigint) AS c"
  local row = db.one(sql, { nil, app.null, 1 })
  return { a = row.a, b = row.b, c = row.c, absent = db.one("SELECT NULL AS n").n == nil }
end)
app.get("/untyped", function() return db.one("SELECT ? IS NULL AS a", { app.null }) end)
local bad = {
  few = function() db.query("SELECT ?, ?", { 1 }) end,
  many = function() db.query("SELECT ?", { 1, 2 }) end,
  unknown = function() db.query("SELECT :a", { a = 1, b = 2 }) end,
  missing = function() db.query("SELECT :a, :b", { a = 1 }) end,
  table = function() db.query("SELECT ?", { { 1 } }) end,
  func = function() db.query("SELECT ?", { print }) end,
  nan = function() db.query("SELECT ?", { 0 / 0 }) end,
  date = function() error("JavaScript alone has dates: cannot be passed here") end,
  two = function() db.query("SELECT 1; SELECT 2") end,
  empty = function() db.query("  ") end,
  syntax = function() db.query("SELECT\n  name FORM people") end,
  quoted = function() db.query('SELECT "text"') end,
  none = function() db.query("SELECT * FROM nobody") end,
  begin = function() db.exec("BEGIN") end,
  commit = function() db.exec("COMMIT") end,
  savepoint = function() db.exec("SAVEPOINT x") end,
  attach = function() db.exec("ATTACH 'x.db' AS x") end,
  vacuum = function() db.exec("VACUUM INTO 'x.db'") end,
  extension = function() db.query("SELECT load_extension('x')") end,
  tokenizer = function() db.one("SELECT fts3_tokenizer(?) AS address", { "simple" }) end,
  pragma = function() db.exec("PRAGMA synchronous = OFF") end,
  temp = function() db.exec("CREATE TEMP TABLE x (a)") end,
}
app.get("/bad/:what", function(req)
  local ok, err = pcall(bad[req.params.what])
  return { ok = ok, message = type(err) == "table" and err.message or tostring(err) }
end)
app.get("/uncaught", function() return db.query("SELECT * FROM nobody") end)
