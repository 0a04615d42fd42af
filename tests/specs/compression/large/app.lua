local app = require "sampan"

app.get("/", function()
  local lines = {}
  for i = 1, 40000 do lines[i] = "line " .. i .. "\n" end
  return table.concat(lines)
end)
app.get("/wrong", function() return "x" end)
