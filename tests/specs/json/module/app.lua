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
