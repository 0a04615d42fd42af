local app = require "sampan"

local function tried(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "ok" or tostring(err)
end

app.topic("room:*", { history = 2 })
app.topic("news", { history = 1 })

local at_load = {
  tried(app.topic, "a*b", { history = 1 }),
  tried(app.topic, "", { history = 1 }),
  tried(app.topic, "a", { history = 0 }),
  tried(app.topic, "a", {}),
  tried(app.topic, "a", { histories = 1 }),
  tried(app.presence, "a"),
}
app.get("/at-load", function() return at_load end)
app.get("/too-late", function()
  return { tried(app.topic, "a", { history = 1 }), tried(app.presence, "") }
end)

app.sse("/missed/:topic", function(req, events)
  events:subscribe(req.params.topic)
  events:close()
end)
