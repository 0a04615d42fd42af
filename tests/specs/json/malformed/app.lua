local app = require "sampan"

app.post("/echo", function(req) return req:json() end)
app.post("/caught", function(req)
  local ok, err = pcall(req.json, req)
  return { ok = ok, message = type(err) == "table" and err.message or tostring(err) }
end)
