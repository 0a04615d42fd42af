local app = require "sampan"

local function tried(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "ok" or tostring(err)
end
local function nothing() end

app.cron("0 0 29 2 *", "nightly", nothing)
local at_load = {
  tried(app.job, "one", nothing),
  tried(app.job, "one", nothing),
  tried(app.job, "", nothing),
  tried(app.job, "sampan.mail", nothing),
  tried(app.job, "two", { attempts = 0 }, nothing),
  tried(app.job, "two", { attempts = 1.5 }, nothing),
  tried(app.job, "two", { timeout = "soon" }, nothing),
  tried(app.job, "two", { timeout = 0 }, nothing),
  tried(app.job, "two", { backoff = "900 d" }, nothing),
  tried(app.job, "two", { queue = 7 }, nothing),
  tried(app.job, "two", { unique = "yes" }, nothing),
  tried(app.job, "two", { attempt = 1 }, nothing),
  tried(app.job, "two", {}),
  tried(app.job, "two", "text", nothing),
  tried(app.job, "two", nothing, nothing),
  tried(app.job, "two", {}, nothing, nothing),
  tried(app.enqueue, "one"),
}
app.get("/at-load", function() return at_load end)
app.get("/too-late", function() return { tried(app.job, "three", nothing) } end)

app.post("/wrong", function()
  local cycle = {}
  cycle.cycle = cycle
  return {
    tried(app.enqueue, "other"),
    tried(app.enqueue, "one", nothing),
    tried(app.enqueue, "one", cycle),
    tried(app.enqueue, "one", { 0 / 0 }),
    tried(app.enqueue, "one", string.rep("x", 2000)),
    tried(app.enqueue, "one", nil, { delay = -1 }),
    tried(app.enqueue, "one", nil, { delay = "9999999 d" }),
    tried(app.enqueue, "one", nil, { at = "noon" }),
    tried(app.enqueue, "one", nil, { priority = 5000 }),
    tried(app.enqueue, "one", nil, { priority = -9223372036854775807LL - 1 }),
    tried(app.enqueue, "one", nil, { unique = true }),
    tried(app.enqueue, "one", nil, { later = true }),
    tried(app.enqueue, 7),
    tried(app.enqueue, "one", nil, { delay = 1, at = 1 }),
    tried(app.enqueue, "cron:nightly"),
  }
end)
app.get("/table", function()
  return { count = #app.db.query("SELECT 1 FROM sqlite_schema WHERE name LIKE '_sampan_jobs%'") }
end)
