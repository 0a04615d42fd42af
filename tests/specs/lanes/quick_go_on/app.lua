-- A slow route does not end before a quick one has been answered, and there is one worker.
local app = require "sampan"
local cache = app.cache

local function is_slow() return app.worker.index > app.worker.count end
app.get("/spin/:name", { slow = true }, function(req)
  cache.set("spins", true)
  repeat until cache.get(req.params.name)
  return { name = req.params.name, slow = is_slow() }
end)
app.get("/spins", function() return { spins = cache.get("spins") or false, slow = is_slow() } end)
app.get("/go/:name", function(req)
  cache.set(req.params.name, true)
  return { slow = is_slow() }
end)
