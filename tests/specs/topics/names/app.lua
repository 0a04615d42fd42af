local app = require "sampan"

local function tried(fn, ...)
  local ok, error = pcall(fn, ...)
  return ok and "ok" or tostring(error)
end

local at_load = {
  tried(app.subscribe, "", function() end),
  tried(app.subscribe, "a", function() end, { often = true }),
  tried(app.subscribe, "a", 7),
  tried(app.subscribe, "stars:*", function() end),
}

app.get("/at-load", function() return at_load end)
app.get("/in-handler", function()
  return {
    tried(app.publish, "", "x"),
    tried(app.publish, ("x"):rep(257), "x"),
    tried(app.publish, "a\nb", "x"),
    tried(app.publish, "a", function() end),
    tried(app.publish, "a", ("x"):rep(101)),
    tried(app.publish, "a", ("x"):rep(100)),
    tried(app.subscribe, "a", function() end),
    tried(app.presence, "stars:*:members"),
    tried(app.publish, "stars:*:messages", "x"),
    tried(app.publish, ("é"):rep(60) .. ("y"):rep(9000), "x"),
  }
end)

app.sse("/events", function(req, events)
  events:send(tried(events.subscribe, events, "stars:*"))
  events:send(tried(events.join, events, "*"))
  events:close()
end)
