local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)") end)
app.job("note", function(args)
  local digits = tostring(args.number):match("^-?%d+")
  db.exec("INSERT INTO done (line) VALUES (?)", { args.kind .. " " .. digits })
end)

local function tried(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "ok" or tostring(err)
end

app.post("/keep", function()
  app.enqueue("note", { kind = "one", number = 9007199254740993LL })
  app.enqueue_batch("note", { { kind = "batch", number = -9223372036854775807LL } })
end)
app.get("/done", function()
  local lines = {}
  for _, row in ipairs(db.query("SELECT line FROM done ORDER BY line")) do lines[#lines + 1] = row.line end
  return lines
end)
app.post("/wrong", function()
  return {
    tried(app.enqueue, "note", { number = 18446744073709551615ULL }),
    tried(app.enqueue_batch, "note", { 1, { number = 18446744073709551615ULL } }),
    tried(app.enqueue_batch, "note", { 1, 2, ("x"):rep(2000) }),
    tried(app.enqueue_batch, "note", { 1 }, { after = "note", args = ("x"):rep(3000) }),
    tried(app.enqueue_batch, "note", { 1 }, { after = "note", args = { 18446744073709551615ULL } }),
    tried(app.enqueue_batch, "note", "text"),
    tried(app.enqueue_batch, "other", { 1 }),
  }
end)
app.get("/jobs", function() return db.one("SELECT count(*) AS count FROM _sampan_jobs") end)
