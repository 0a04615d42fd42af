-- Jobs at work, as measured by `cargo xtask bench jobs`:  sampan run examples/bench_jobs/app.lua
local app = require "sampan"
local db, time = app.db, app.time

local INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)"
local PAYLOAD = '{"user":12345,"page":"/home"}'

app.job("nothing", function() end)

app.job("start", function(args)
  db.exec("INSERT INTO starts (millis) VALUES (?)", { (time.now() - args.at) * 1000 })
end)

app.job("burn", { attempts = 1 }, function(args)
  while time.now() < args.till do end
end)

local function insert() return db.exec(INSERT, { "view", PAYLOAD, time.now_ms() }) end

local function enqueue() return app.enqueue("nothing", { user = 12345, page = "/home" }) end

app.get("/version", { version = "1.0" })

app.get("/quick", function() return { status = "ok" } end)

-- A thousand jobs that do nothing.
app.post("/add", function()
  for _ = 1, 1000 do app.enqueue("nothing") end
  return { added = 1000 }
end)

app.get("/left", function() return db.one("SELECT count(*) AS left FROM _sampan_jobs") end)

-- What a job costs in the transaction of its caller, beside what a row costs.
app.post("/insert", function()
  insert()
  return { done = 1 }
end)

app.post("/insert-insert", function()
  insert()
  insert()
  return { done = 2 }
end)

app.post("/insert-enqueue", function()
  insert()
  enqueue()
  return { done = 2 }
end)

app.post("/insert-ten", function()
  insert()
  for _ = 1, 10 do insert() end
  return { done = 11 }
end)

app.post("/enqueue-ten", function()
  insert()
  for _ = 1, 10 do enqueue() end
  return { done = 11 }
end)

app.get("/count", function() return db.one("SELECT count(*) AS count FROM events") end)

-- The time until a job starts.
app.post("/start", function()
  app.enqueue("start", { at = time.now() })
  return { done = 1 }
end)

app.get("/starts", function() return db.query("SELECT millis FROM starts ORDER BY rowid") end)

-- Four jobs that do nothing but use a processor.
app.post("/burn/:millis", function(req)
  local till = time.now() + tonumber(req.params.millis) / 1000
  for _ = 1, 4 do app.enqueue("burn", { till = till }) end
  return { till = till }
end)
