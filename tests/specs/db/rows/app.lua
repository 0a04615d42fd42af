local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")

app.post("/people/:name", function(req)
  return db.exec("INSERT INTO people (name, age) VALUES (?, ?)", { req.params.name, tonumber(req.query.age) or app.null })
end)
app.get("/people", function() return db.query("SELECT name, id, age FROM people ORDER BY id") end)
app.get("/none", function() return db.query("SELECT * FROM people WHERE id < 0") end)
app.get("/one/:id", function(req)
  return db.one("SELECT * FROM people WHERE id = :id", { id = tonumber(req.params.id) }) or { found = false }
end)
app.get("/changed/:id", function(req)
  local row = db.one("SELECT * FROM people WHERE id = ?", { tonumber(req.params.id) })
  row.age = nil
  row.extra = "x"
  return row
end)
app.get("/returning", function()
  return db.query("INSERT INTO people (name) VALUES ('r'), ('s') RETURNING name, age")
end)
app.get("/update", function()
  return db.exec("UPDATE people SET age = 1 WHERE name IN ('r', 's')")
end)
app.get("/own", function()
  db.exec("INSERT INTO people (name) VALUES ('own')")
  local row = db.one("SELECT count(*) AS n FROM people WHERE name = 'own'")
  db.exec("DELETE FROM people WHERE name = 'own'")
  return row
end)
app.get("/tagged", function() return db.query("SELECT name FROM people WHERE name = ?", { "a' OR 1=1 --" }) end)
app.get("/exec-select", function() return db.exec("SELECT * FROM people") end)
