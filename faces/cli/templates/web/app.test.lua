local app = require "sampan"
local t, db = app.t, app.db

t.test("a note is added", function()
  local res = t.post("/notes", { form = { text = "Buy milk" } })
  t.equal(res.status, 303)
  t.equal(#db.query("SELECT id FROM notes"), 1)
  t.equal(t.get("/").html:text("ul.notes li"), "Buy milk")
end)

t.test("a note needs a text", function()
  local res = t.post("/notes", { form = { text = "" } })
  t.equal(res.status, 422)
  t.equal(res.html:count("p.error"), 1)
end)
