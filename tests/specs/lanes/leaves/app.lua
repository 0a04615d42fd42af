-- Clients that leave while their request is in the slow lane.
local app = require "sampan"
local cache, time = app.cache, app.time

app.get("/waits", { slow = true }, function()
  cache.set("waits", "runs")
  local ok, err = pcall(time.sleep, 60)
  cache.set("waits", ok and "ended" or err.code)
  return "never"
end)
app.get("/late", { slow = true }, function()
  cache.set("late", "runs")
  local ok, err = pcall(time.sleep, 60)
  cache.set("late", ok and "ended" or err.code)
  return "never"
end)
app.get("/endless", { slow = true }, function()
  cache.set("endless", "runs")
  repeat until cache.get("never")
end)
app.post("/spins", { slow = true }, function()
  cache.set("spins", "runs")
  repeat until cache.get("go")
  return "done"
end)
app.get("/queued", { slow = true }, function() cache.set("queued", "runs") end)
app.post("/go", function() cache.set("go", true) end)
app.get("/seen/:name", function(req) return cache.get(req.params.name) or "nothing" end)
app.get("/last", { slow = true }, function() return "last" end)
