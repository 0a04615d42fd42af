local app = require "sampan"

local function down(n) return 1 + down(n + 1) end
app.get("/recursion", function() return down(1) end)
app.get("/caught", function()
  local ok = pcall(down, 1)
  return { ok = ok }
end)
app.get("/tail", function()
  local function forever() return forever() end
  return forever()
end)
app.get("/pattern", function()
  local t = setmetatable({}, {})
  getmetatable(t).__index = function(_, key) return t[key .. "x"] end
  return t.a
end)
app.get("/fine", function() return "fine" end)
