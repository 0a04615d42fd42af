local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)") end)
local function note(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end

app.job("resize", function(args, job)
  note(args.file .. " " .. args.sizes[2] .. " " .. job.attempt .. " " .. job.name)
end)

app.job("wait", { queue = "slow", timeout = "5 s" }, function(args, job)
  time.sleep(0.001)
  note("waited " .. tostring(args) .. " " .. tostring(job.key == "wait-" .. string.format("%d", job.id)))
end)

app.job("chain", {}, function(args)
  note("chain " .. args)
  if args < 3 then app.enqueue("chain", args + 1) end
end)

app.post("/resize", function()
  local id = app.enqueue("resize", { file = "a.png", sizes = { 1, 2 } })
  return { is_number = type(id) == "number" and id > 0 }
end)
app.job("text", function(args) note(args.text) end)
-- Texts are bytes here, so none has half of a character of UTF-16.
app.post("/cut", function() app.enqueue("text", { text = "caf\239\191\189" }) end)
app.post("/cut-batch", function() app.enqueue_batch("text", { { text = "b\239\191\189" } }) end)
app.post("/shown", function()
  local id = app.enqueue("chain", 3)
  return { shown = tostring(id) == string.format("%.0f", id) and "" .. id == string.format("%.0f", id) }
end)
app.post("/keys", function()
  local first = app.enqueue("a", nil, { unique = "b c", delay = "1 h" })
  return {
    apart = first ~= app.enqueue("a b", nil, { unique = "c", delay = "1 h" }),
    again = first == app.enqueue("a", nil, { unique = "b c", delay = "1 h" }),
    cancelled = app.cancel_job(first),
  }
end)
app.job("sum", { unique = true }, function() end)
app.post("/same", function()
  local function add(args) return app.enqueue("sum", args, { delay = "1 h" }) end
  local first = add({ user = 7, year = { from = 1, to = { month = 2, day = 3 } } })
  local list = {}
  for i = 1, 400 do list[i] = ("%.14f"):format(math.random()) end
  local long = add(list)
  local answer = {
    same = first == add({ year = { to = { day = 3, month = 2 }, from = 1 }, user = 7 }),
    other = first ~= add({ user = 7, year = { from = 1, to = { month = 3, day = 2 } } }),
    long = long == add(list),
    apart = long ~= first,
    cancelled = app.cancel_job(long),
  }
  answer.free = long ~= add(list)
  return answer
end)
app.job("a", function() end)
app.job("a b", function() end)
app.post("/wait", function() app.enqueue("wait") end)
app.post("/chain", function() app.enqueue("chain", 1) end)
app.get("/get", function() app.enqueue("chain", 3) end)
app.post("/thrown", function()
  pcall(db.batch, function()
    note("never")
    app.enqueue("resize", { file = "never", sizes = { 1, 2 } })
    error("no")
  end)
  db.batch(function() app.enqueue("resize", { file = "kept", sizes = { 1, 2 } }) end)
end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done ORDER BY id")) do lines[i] = row.line end
  return lines
end)
app.post("/clear", function() db.exec("DELETE FROM done") end)
app.get("/left", function()
  return db.query("SELECT name, state FROM _sampan_jobs")
end)
