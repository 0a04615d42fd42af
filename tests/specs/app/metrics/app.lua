local app = require "sampan"
local metrics = app.metrics

local orders = metrics.counter("orders_total", { help = "Orders.", labels = { "kind", "is_new" } })
local counter = metrics.counter("visits_total")
local gauge = metrics.gauge("open_things", { help = "Things that are open." })
local waits = metrics.histogram("wait_seconds", { help = "Waits.", labels = { "place" }, buckets = { 0.5, 1 } })
local histogram = metrics.histogram("default_seconds")
local again = metrics.counter("visits_total", {})

local declared = {}
local function fault(name, fn) declared[name] = tostring(select(2, pcall(fn))) end
fault("shape", function() metrics.counter("visits_total", { labels = { "a" } }) end)
fault("kind", function() metrics.gauge("visits_total") end)
fault("name", function() metrics.counter("7 visits") end)
fault("own", function() metrics.gauge("sampan_mine") end)
fault("label", function() metrics.histogram("a_seconds", { labels = { "le" } }) end)
fault("twice", function() metrics.counter("a_total", { labels = { "b", "b" } }) end)
fault("buckets", function() metrics.histogram("a_seconds", { buckets = { 2, 1 } }) end)
fault("option", function() metrics.counter("a_total", { buckets = { 1 } }) end)
fault("part", function() metrics.counter("wait_seconds_count") end)

app.get("/work", function()
  orders:inc(1, { kind = "a\"b", is_new = true })
  orders:inc(2.5, { kind = "a\"b", is_new = true })
  counter:inc()
  again:inc(2)
  gauge:set(5)
  gauge:inc()
  gauge:dec(3)
  waits:observe(0.25, { place = 7 })
  waits:observe(3, { place = 7 })
  histogram:observe(0.3)
  for i = 1, 1100 do orders:inc(1, { kind = "k" .. i, is_new = false }) end
  orders:inc(1, { kind = string.rep("x", 300), is_new = false })
  return "done"
end)
app.get("/text", function(req)
  local lines = {}
  for line in metrics.text():gmatch("[^\n]+") do
    if line:find(req.query.begin, 1, true) == 1 and #lines < 12 then lines[#lines + 1] = line end
  end
  return lines
end)
app.get("/declared", function() return declared end)
app.get("/late", function() metrics.counter("late_total") end)
app.get("/known", function() metrics.counter("visits_total"):inc(0) return "known" end)
app.get("/negative", function() counter:inc(-1) end)
app.get("/nan", function() gauge:set(0 / 0) end)
app.get("/huge", function() counter:inc(1e308) end)
app.get("/missing", function() waits:observe(1) end)
app.get("/unknown", function() counter:inc(1, { kind = "a" }) end)
app.get("/value", function() waits:observe(1, { place = {} }) end)
