-- The database at work, as measured by `cargo xtask bench db`:  sampan run examples/bench_db/app.lua
local app = require "sampan"
local db, time = app.db, app.time

local INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)"
local NEWEST = "SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20"
local PAYLOAD = '{"user":12345,"page":"/home"}'

app.post("/write", function()
  local done = db.exec(INSERT, { "view", PAYLOAD, time.now_ms() })
  return { id = done.last_id }
end)

app.post("/write-batch", function()
  local now = time.now_ms()
  db.batch(function()
    for _ = 1, 10 do
      db.exec(INSERT, { "view", PAYLOAD, now })
    end
  end)
  return { inserted = 10 }
end)

app.get("/read", function() return db.query(NEWEST) end)

app.get("/mixed", function()
  db.exec(INSERT, { "view", PAYLOAD, time.now_ms() })
  return db.query(NEWEST)
end)

-- Not measured: after each run it tells whether everything that was acknowledged is there.
app.get("/count", function() return db.one("SELECT count(*) AS count FROM events") end)
