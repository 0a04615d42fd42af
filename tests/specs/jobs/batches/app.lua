local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)") end)
local function note(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end

app.job("part", { attempts = 1 }, function(args)
  if args == "broken" then error("broken") end
  if args == "wait" then note("waits") time.sleep(60) end
end)
app.job("report", function(args)
  note(("done %d dead %d cancelled %d for %s"):format(args.done, args.dead, args.cancelled, args.args.name))
end)

local function tried(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "ok" or tostring(err)
end

app.post("/batch", function()
  app.enqueue_batch("part", { 1, "broken", { 2 }, "three" }, { after = "report", args = { name = "four" } })
end)
app.post("/empty", function()
  app.enqueue_batch("part", app.json.array {}, { after = "report", args = { name = "none" } })
end)
app.post("/empty-table", function()
  app.enqueue_batch("part", {}, { after = "report", args = { name = "none" } })
end)
app.post("/wrong", function()
  return {
    tried(app.enqueue_batch, "part", "text"),
    tried(app.enqueue_batch, "other", { 1 }),
    tried(app.enqueue_batch, "part", { 1 }, { after = "other" }),
    tried(app.enqueue_batch, "part", { 1 }, { after = 7 }),
    tried(app.enqueue_batch, "part", { 1 }, { later = true }),
    tried(app.cancel_job, "seven"),
    app.cancel_job(7),
  }
end)
app.post("/cancelled", function()
  local id = app.enqueue("part", 1, { delay = "1 h" })
  return { app.cancel_job(id), app.cancel_job(id) }
end)
app.post("/wait", function()
  local id = app.enqueue("part", "wait")
  db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { "id " .. string.format("%d", id) })
end)
app.post("/give-up", function()
  local line = db.one("SELECT line FROM done WHERE line LIKE 'id %'").line
  return { app.cancel_job(tonumber(line:sub(4))) }
end)
app.get("/running", function()
  return db.one("SELECT count(*) AS count FROM _sampan_jobs WHERE state = 'running'")
end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done WHERE line NOT LIKE 'id %' ORDER BY id")) do lines[i] = row.line end
  return lines
end)
app.post("/clear", function() db.exec("DELETE FROM done") end)
