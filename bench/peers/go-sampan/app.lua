local app = require "sampan"

local function dispatch(input)
  return input
end

app.get("/cached", function() return dispatch("hello from lua\n") end)
app.get("/file", function() return dispatch("hello from lua\n") end)
