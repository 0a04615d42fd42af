local app = require "sampan"
local db = app.db

local NOTE = { text = { required = true, max = 200 } }

local function page(form, errors, status)
  local notes = db.query("SELECT id, text FROM notes ORDER BY id DESC")
  return app.render("index.html", { notes = notes, form = form, errors = errors }, status)
end

app.get("/", function() return page({}, {}) end)

app.post("/notes", function(req)
  local form = req:form()
  local note, errors = req:validate(form, NOTE)
  if errors then return page(form, errors, 422) end
  db.exec("INSERT INTO notes (text) VALUES (:text)", note)
  return app.redirect("/", 303)
end)
