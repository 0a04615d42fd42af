local app = require "sampan"

app.get("/eat", function()
  local t = {}
  for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end
end)
local kept = {}
app.get("/keep", function()
  for i = 1, 1e9 do kept[#kept + 1] = ("x"):rep(1000) .. i end
end)
app.get("/fine", function() return "fine" end)
