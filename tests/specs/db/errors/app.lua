local app = require "sampan"
local db, null = app.db, app.null

db.exec("CREATE TABLE IF NOT EXISTS team (id INTEGER PRIMARY KEY, name TEXT)")
db.exec([[CREATE TABLE IF NOT EXISTS user (
  id INTEGER PRIMARY KEY, team INTEGER REFERENCES team (id), email TEXT NOT NULL, area TEXT, age INTEGER CONSTRAINT adult CHECK (age > 17),
  UNIQUE (email, area)) STRICT]])
db.exec("CREATE UNIQUE INDEX IF NOT EXISTS by_lower ON team (lower(name))")
db.exec([[CREATE TRIGGER IF NOT EXISTS closed BEFORE DELETE ON user BEGIN SELECT RAISE(ABORT, 'users stay'); END]])
db.exec("INSERT OR IGNORE INTO user (id, email, area) VALUES (1, 'ann', 'x')")
db.exec("INSERT OR IGNORE INTO team VALUES (1, 'One')")

local BUSY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000) "
local cases = {
  unique = function() db.exec("INSERT INTO user (email, area) VALUES ('ann', 'x')") end,
  primary_key = function() db.exec("INSERT INTO user (id, email) VALUES (1, 'bob')") end,
  unique_index = function() db.exec("INSERT INTO team VALUES (2, 'ONE')") end,
  foreign_key = function() db.exec("INSERT INTO user (team, email) VALUES (99, 'bob')") end,
  not_null = function() db.exec("INSERT INTO user (email) VALUES (NULL)") end,
  check = function() db.exec("INSERT INTO user (email, age) VALUES ('bob', 3)") end,
  type = function() db.exec("INSERT INTO user (email, age) VALUES ('bob', 'old')") end,
  mismatch = function() db.exec("INSERT INTO team VALUES ('two', 'x')") end,
  trigger = function() db.exec("DELETE FROM user") end,
  syntax = function() db.query("SELEC 1") end,
  no_table = function() db.query("SELECT * FROM nowhere") end,
  no_column = function() db.query("SELECT nothing FROM user") end,
  two_statements = function() db.exec("DELETE FROM team; DELETE FROM user") end,
  parameter = function() db.query("SELECT ?, ?", { 1 }) end,
  name = function() db.query("SELECT :a", { b = 1 }) end,
  data = function() db.query("SELECT json('{')") end,
  denied = function() db.exec("COMMIT") end,
  vacuum = function() db.exec("VACUUM") end,
  too_large = function() db.query("SELECT zeroblob(20000000)") end,
  result = function() db.query("SELECT zeroblob(2000000)") end,
  timeout = function() db.exec(BUSY .. "INSERT INTO team (name) SELECT x FROM n WHERE x < 0") end,
  later = function() db.query_async(BUSY .. "SELECT count(*) FROM n") end,
  thread = function() db.query_async("INSERT INTO team (name) VALUES ('two')") end,
  in_batch = function() db.batch(function() db.exec("INSERT INTO user (email) VALUES (NULL)") end) end,
}

local function told(err)
  return { code = err.code, table = err.table, columns = err.columns, constraint = err.constraint, status = err.status }
end

app.get("/case/:name", function(req)
  local ok, err = pcall(cases[req.params.name])
  if ok then return { ok = true } end
  return told(err)
end)

-- An error object is used like a text where one is expected.
app.get("/text", function()
  local _, err = pcall(cases.unique)
  local words = "UNIQUE constraint failed: user.email, user.area"
  return {
    prints = tostring(err) == err.place .. ": " .. err.message, joins = "why: " .. err == "why: " .. tostring(err),
    has_methods = err:find(words, 1, true) ~= nil and err:sub(1, 8) == "app.lua:", message = err.message:sub(1, #words) == words,
    has_place = err.place:match("^app.lua:%d+$") ~= nil, has_stack = err.stack:find("app.lua:", 1, true) ~= nil, other = err.other == nil,
  }
end)

app.get("/again", function()
  local _, first = pcall(cases.unique)
  local _, second = pcall(error, first, 0)
  return { same = first == second, code = second.code }
end)

app.get("/uncaught", function() cases.unique() end)
app.get("/rethrown", function()
  local _, err = pcall(cases.not_null)
  error(err, 0)
end)
app.get("/status", function()
  local ok, err = pcall(cases.unique)
  if not ok and err.code == "unique" then error({ status = 409, message = "taken already" }) end
  error(err, 0)
end)
app.get("/plain", function() return { error = type(select(2, pcall(error, "text", 0))) } end)
app.on_error(function(_, err)
  if err.status == 409 then return { message = err.message } end
  return { code = err.code or null, table = err.table, columns = err.columns, constraint = err.constraint }
end)
