local app = require "sampan"
local t = app.t

t.test("a note is added and found", function()
  local res = t.post("/notes", { json = { text = "Buy milk" } })
  t.equal(res.status, 201)
  t.equal(t.get("/notes/" .. res.json.id).json, { id = res.json.id, text = "Buy milk" })
  t.equal(#t.get("/notes").json, 1)
end)

t.test("what is wrong is told", function()
  t.equal(t.post("/notes", { json = {} }).status, 422)
  t.equal(t.get("/notes/7").status, 404)
end)
