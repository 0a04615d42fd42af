local app = require "sampan"
local sleep = app.time.sleep

app.get("/pcall", function()
  local ok, value = pcall(function()
    sleep(0.002)
    return "inside"
  end)
  return { ok = ok, value = value }
end)
app.get("/error", function()
  local ok, err = pcall(function()
    sleep(0.002)
    error("after", 0)
  end)
  return { ok = ok, err = err }
end)
app.get("/coroutine", function()
  local co = coroutine.wrap(function()
    for i = 1, 3 do
      sleep(0.002)
      coroutine.yield(i)
    end
  end)
  return { co(), co(), co() }
end)
app.get("/iterator", function()
  local function slowly(n)
    local i = 0
    return function()
      sleep(0.002)
      i = i + 1
      if i <= n then return i end
    end
  end
  local sum = 0
  for i in slowly(4) do sum = sum + i end
  return { sum = sum }
end)
app.get("/metamethod", function()
  local lazy = setmetatable({}, { __index = function(_, key)
    sleep(0.002)
    return key .. "!"
  end })
  return { value = lazy.field }
end)
