local app = require "sampan"

app.post("/round", function(req) return app.text(app.json.encode(app.json.decode(req.body))) end)
app.get("/encode", function()
  return { object = app.json.encode({ a = { 1, 2 } }), text = app.json.encode("x\n"), number = app.json.encode(1.5) }
end)
app.get("/decode", function() return { value = app.json.decode('{"a":[1,{"b":"c"}]}').a[2].b } end)
app.get("/fault", function()
  local ok, err = pcall(app.json.decode, "[1,")
  return { ok = ok, message = type(err) == "table" and err.message or tostring(err) }
end)
app.get("/cycle", function()
  local t = {}
  t.t = t
  return { ok = (pcall(app.json.encode, t)) }
end)
app.get("/pretty", function()
  local value = { a = { 1, { b = "[x, {y: \"z\"}]" } }, none = app.json.array {}, nothing = app.null }
  return app.text(app.json.encode(value, { pretty = true }))
end)
app.get("/plain", function()
  return { app.json.encode({ 1 }, { pretty = false }), app.json.encode({}, { pretty = true }), app.json.encode("x", {}) }
end)
app.get("/pretty/wrong", function() return app.json.encode({}, { pretty = 2 }) end)
app.get("/option", function() return app.json.encode({}, { indent = 2 }) end)
