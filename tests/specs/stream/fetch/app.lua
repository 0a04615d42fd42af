-- Lua has no `fetch`: a route of its own does the same.
local app = require "sampan"

local function handler(req)
  if req.method == "GET" then return { bytes = 0, has_body = false } end
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes, has_body = true }
end
app.all("/*rest", { stream = true, body_bytes_max = "200 kB" }, handler)
