local app = require "sampan"
local db = app.db

local is_server = db.dialect() == "postgres"
db.exec [[CREATE TABLE IF NOT EXISTS times
  (id int PRIMARY KEY, at timestamptz, day date, plain timestamp, price numeric, note text)]]
local at_start = db.one("SELECT CURRENT_TIMESTAMP AS at, CAST(1.5 AS numeric) AS price")

local SELECT = "SELECT at, price FROM times WHERE id = 1"
-- SQLite keeps the number of seconds.
local TIME = is_server and "to_timestamp(?)" or "?"

app.post("/add", function()
  local at = app.time.parse("2026-01-31 12:34:56.789")
  local insert = ("INSERT INTO times (id, at, day, plain, price) VALUES (?, $, $, $, ?)"):gsub("%$", TIME)
  return { changes = db.exec(insert, { 1, at, app.time.parse("2026-01-31"), at, 1.5 }).changes }
end)
app.get("/row", function() return db.one("SELECT at, day, plain, price, note FROM times WHERE id = 1") end)
app.get("/rows", function() return db.query("SELECT day, price FROM times WHERE id = 1") end)
app.get("/ways", function()
  local rows = {
    db.query(SELECT)[1],
    db.one(SELECT),
    db.query_async(SELECT)[1],
    db.one_async(SELECT),
    db.query("SELECT at, price FROM times WHERE id = ?", { 1 })[1],
  }
  db.transaction(function(tx)
    rows[#rows + 1] = tx:query(SELECT)[1]
    rows[#rows + 1] = tx:one(SELECT)
  end)
  rows[#rows + 1] = db.one("UPDATE times SET note = NULL WHERE id = 1 RETURNING at, price")
  local found = { (type(at_start.at) == "number") == is_server and at_start.price == 1.5 }
  for i, row in ipairs(rows) do found[i + 1] = type(row.at) == "number" and row.price == 1.5 end
  return found
end)
app.get("/given-back", function()
  return db.one("SELECT count(*) AS n FROM times WHERE at = " .. TIME, { db.one(SELECT).at })
end)
app.post("/endless", function()
  db.exec("INSERT INTO times (id, at, day) VALUES (?, ?, ?)", { 2, math.huge, -math.huge })
  local row = db.one("SELECT at, day FROM times WHERE id = 2")
  return { row.at == math.huge, row.day == -math.huge }
end)
