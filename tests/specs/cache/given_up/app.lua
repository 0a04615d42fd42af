local app = require "sampan"
local cache, time = app.cache, app.time

app.get("/hold", function() app.lock("held", function() time.sleep(60) end) end)
app.get("/take", function() return app.lock("held", { timeout = 50 }, function() return "free" end) end)
app.get("/make", function(req)
  return cache.once("made", function()
    time.sleep(tonumber(req.query.time))
    return "made in " .. req.query.time
  end)
end)
