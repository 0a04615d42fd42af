-- The memory of an isolate of the slow lane is its own.
local app = require "sampan"

local kept = {}
local number = 0
app.get("/fill", { slow = true }, function()
  for at = 1, 1e9 do kept[#kept + 1] = ("%08d"):format(at):rep(100) end
end)
app.get("/slow", { slow = true }, function() return "slow" end)
app.get("/count", function()
  number = number + 1
  return tostring(number)
end)
