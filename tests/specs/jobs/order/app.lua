local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS free (queue TEXT)")
end)
local function note(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end

app.job("note", { queue = "one" }, note)
app.job("same", { queue = "one", unique = true }, note)
-- Keeps its queue busy until it is told.
app.job("hold", { queue = "one" }, function()
  while #db.query("SELECT queue FROM free") == 0 do time.sleep(0.005) end
end)
app.job("wait", { queue = "two" }, function(args)
  note("begin " .. args)
  time.sleep(0.02)
  note("end " .. args)
end)

app.post("/priorities", function()
  db.batch(function()
    app.enqueue("note", "third", { priority = -1 })
    app.enqueue("note", "second")
    app.enqueue("note", "first", { priority = 5 })
    app.enqueue("note", "last", { delay = 0.05, priority = -9 })
    app.enqueue("note", "never", { at = time.now() + 1000 })
  end)
end)
app.post("/unique", function()
  app.enqueue("hold", nil, { priority = 9 })
  local a = app.enqueue("same", "a")
  local b = app.enqueue("same", "a")
  local c = app.enqueue("same", "c")
  local d = app.enqueue("note", "d", { unique = "key" })
  local e = app.enqueue("note", "e", { unique = "key" })
  db.exec("INSERT INTO free (queue) VALUES ('one')")
  return { a == b, a == c, d == e }
end)
app.post("/waits", function()
  app.enqueue("wait", "a")
  app.enqueue("wait", "b")
end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done ORDER BY id")) do lines[i] = row.line end
  return lines
end)
app.post("/clear", function() db.exec("DELETE FROM done") end)
