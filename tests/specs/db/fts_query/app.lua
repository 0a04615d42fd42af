local app = require "sampan"
local db = app.db

local is_server = db.dialect() == "postgres"
if is_server then
  db.exec("CREATE TABLE IF NOT EXISTS notes (id bigint GENERATED ALWAYS AS IDENTITY, body text)")
  db.exec("TRUNCATE notes RESTART IDENTITY")
else
  db.exec("CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5 (body)")
  db.exec("DELETE FROM notes")
end
db.exec("INSERT INTO notes (body) VALUES ('tea and biscuits'), ('she said \"tea\"'), ('größe')")

local FOUND = is_server
  and "SELECT id FROM notes WHERE to_tsvector('simple', body) @@ to_tsquery('simple', ?) ORDER BY id"
  or "SELECT rowid AS id FROM notes WHERE notes MATCH ? ORDER BY rowid"

app.get("/", function(req)
  return db.query(FOUND, { db.fts_query(req.query.q or "", { prefix = req.query.prefix == "yes" }) })
end)
app.get("/dialect", function() return { is_known = db.dialect() == "sqlite" or is_server } end)
app.get("/option", function() return db.fts_query("a", { prefx = true }) end)
app.get("/kind", function() return db.fts_query("a", { prefix = 1 }) end)
