local app = require "sampan"
local t = app.t

t.test("a message is kept and shown", function()
  local res = t.post("/messages", { form = { name = "Ann", text = "Hello" } })
  t.equal(res.status, 303)
  local html = t.get("/").html
  t.equal(html:text("#messages b"), "Ann")
  t.equal(html:text("#messages span"), "Hello")
end)

t.test("a message needs a text", function()
  local res = t.post("/messages", { form = { name = "Ann", text = "" } })
  t.equal(res.status, 422)
  t.equal(res.html:count("p.error"), 1)
end)
