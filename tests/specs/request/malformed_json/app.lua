-- Lua has no streams of the Web and no clones: each of these reads the body in its own way.
local app = require "sampan"

local function touched(req)
  local _ = #req.body
  return req:json()
end
app.post("/plain", function(req) return req:json() end)
app.post("/touched", touched)
app.post("/twin", touched)
app.post("/twin-of-twin", touched)
app.post("/beside-its-twin", touched)
app.post("/streamed", { stream = true }, function(req) return req:json() end)
app.post("/another", function(req) return app.json.decode(req:text()) end)
app.post("/answer", function(req) return app.json.decode(req:text()) end)
app.post("/caught", function(req)
  local _ = #req.body
  local ok, value = pcall(req.json, req)
  if ok then return { locked = false, value = value } end
  return { status = value.status }
end)
