local app = require "sampan"
local db = app.db

local NOTE = { text = { required = true, max = 200 } }

app.get("/", function() return app.text("GET /notes, POST /notes, GET /notes/:id\n") end)

app.get("/notes", function() return db.query("SELECT id, text FROM notes ORDER BY id DESC") end)

app.get("/notes/:id", function(req)
  local note = db.one("SELECT id, text FROM notes WHERE id = ?", { req.params.id })
  return note or app.json({ error = "no such note" }, 404)
end)

app.post("/notes", function(req)
  local note, errors = req:validate(req:json(), NOTE)
  if errors then return app.json({ errors = errors }, 422) end
  return app.json({ id = db.exec("INSERT INTO notes (text) VALUES (:text)", note).last_id }, 201)
end)
