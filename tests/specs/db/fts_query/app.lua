local app = require "sampan"
local db = app.db

db.exec("CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5 (body)")
db.exec("DELETE FROM notes")
db.exec("INSERT INTO notes VALUES ('tea and biscuits'), ('she said \"tea\"'), ('größe')")

app.get("/", function(req)
  local query = db.fts_query(req.query.q or "", { prefix = req.query.prefix == "yes" })
  return { query = query, rows = db.query("SELECT rowid AS id FROM notes WHERE notes MATCH ? ORDER BY rowid", { query }) }
end)
app.get("/option", function() return db.fts_query("a", { prefx = true }) end)
app.get("/kind", function() return db.fts_query("a", { prefix = 1 }) end)
