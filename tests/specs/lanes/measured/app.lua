-- Routes that nothing is declared about. `/alternates` is slow at each second request, and quick at the others.
local app = require "sampan"
local cache = app.cache

local function lane() return app.worker.index > app.worker.count and "slow" or "quick" end
local function work(times)
  local sum = 0
  for at = 1, times do sum = sum + at % 7 end
  return sum
end
local LONG = 12000000

app.get("/quick", function() return lane() end)
app.get("/slow", function()
  work(LONG)
  return lane()
end)
app.get("/never", { slow = false }, function()
  work(LONG)
  return lane()
end)
local odd = false
app.get("/alternates", function()
  odd = not odd
  if odd then work(LONG) end
  return lane()
end)
-- Waits for long, and runs for short times.
app.get("/waits", function()
  app.time.sleep(0.03)
  return lane()
end)
local is_slow = true
app.get("/improves", function(req)
  if cache.get("improved") then is_slow = false end
  if is_slow then work(LONG) end
  return lane()
end)
app.post("/improve", function() cache.set("improved", true) end)
