local app = require "sampan"

local function tried(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "ok" or tostring(err)
end

local at_load = {
  tried(app.sse, "/a", 7),
  tried(app.sse, "/a"),
  tried(app.sse, "/a", { name = "x" }),
  tried(app.sse, function() end, { compres = true }),
  tried(app.sse, function() end, { compress = 1 }),
}
app.get("/at-load", function() return at_load end)

app.sse("/each", function(req, events)
  local faults = {
    tried(events.send, events, { event = "a\nb" }),
    tried(events.send, events, { id = "a\0b" }),
    tried(events.send, events, { retry = -1 }),
    tried(events.send, events, { colour = "red" }),
    tried(events.send, events, { 1, 2 }),
    tried(events.send, events, { data = function() end }),
    tried(function() events:set("last_id", "x") end),
    tried(function() events.colour = "red" end),
    tried(events.subscribe, events, ""),
    tried(events.subscribe, events, "a", { often = true }),
    tried(events.subscribe, events, "a", { event = "a\nb" }),
  }
  for _, fault in ipairs(faults) do events:send(fault) end
end)

app.sse("/throws", function(req, events)
  events:send("some")
  error("no more of it")
end)

app.sse("/closed", function(req, events)
  events:send("before")
  events:close()
  tried(events.send, events, "late")
  events:send("and later")
end)
