local app = require "sampan"

app.post("/echo", function(req) return req:json() end)
app.post("/changed", function(req)
  local list = req:json()
  list[2].added = true
  list[3].a = nil
  list[5].a = { b = list[5].b }
  return list
end)
