local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)") end)
local function note(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end

app.job("spin", { attempts = 1, timeout = 0.1 }, function() while true do end end)
app.job("wait", { attempts = 1, timeout = 0.05 }, function() time.sleep(60) end)
app.job("write", { attempts = 1, timeout = "1 h" }, function()
  note("spins after a write")
  while true do end
end)
app.job("leak", { attempts = 1 }, function()
  local all = {}
  while true do all[#all + 1] = string.rep("x", 1000000) .. #all end
end)
app.job("long", { timeout = "1 m" }, function()
  local until_ms = time.now_ms() + 600
  while time.now_ms() < until_ms do end
  note("long")
end)

app.post("/add/:name", function(req) app.enqueue(req.params.name) end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done ORDER BY id")) do lines[i] = row.line end
  return lines
end)
app.get("/dead/:name", function(req)
  local row = db.one("SELECT errors FROM _sampan_jobs WHERE state = 'dead' AND name = ?", { req.params.name })
  return { errors = row and row.errors }
end)
app.get("/ping", function() return "pong" end)
