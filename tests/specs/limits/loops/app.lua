local app = require "sampan"

app.get("/while", function() while true do end end)
app.get("/for", function()
  local x = 0
  for i = 1, 1e15 do x = x + i end
  return x
end)
app.get("/pcall", function()
  while true do pcall(function() while true do end end) end
end)
app.get("/promise", function()
  -- Lua has no promises: coroutines that call each other for ever.
  while true do
    local co = coroutine.wrap(function() coroutine.yield() end)
    co()
    co()
  end
end)
app.get("/after/sleep", function()
  app.time.sleep(0.01)
  while true do end
end)
app.get("/coroutine", function()
  coroutine.wrap(function() while true do end end)()
end)
app.get("/error", function() error(setmetatable({}, { __tostring = function() while true do end end })) end)
app.get("/fine", function() return "fine" end)
