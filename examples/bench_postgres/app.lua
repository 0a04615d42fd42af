-- PostgreSQL at work, as measured by `cargo xtask bench postgres`:
--   sampan run examples/bench_postgres/app.lua --db postgres://user@host/database
local app = require "sampan"
local db, time = app.db, app.time

local INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)"
local PAYLOAD = '{"user":12345,"page":"/home"}'

local function seconds() return math.floor(time.now()) end

app.get("/row/:id", function(req)
  return db.one("SELECT id, kind, payload, ts FROM events WHERE id = ?", { tonumber(req.params.id) })
end)

app.get("/rows", function()
  return db.query("SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20")
end)

app.post("/write", function()
  local done = db.exec(INSERT, { "view", PAYLOAD, seconds() })
  return { id = done.last_id }
end)

app.post("/write-batch", function()
  local now = seconds()
  db.batch(function()
    for _ = 1, 10 do
      db.exec(INSERT, { "view", PAYLOAD, now })
    end
  end)
  return { inserted = 10 }
end)

-- One of 500 groups of rows, each locked as a whole, so no two transactions wait for each other.
app.post("/update", function()
  local first = 20 * math.random(0, 499) + 1
  db.transaction(function(tx)
    local rows = tx:query(
      "SELECT id, n FROM counters WHERE id BETWEEN ? AND ? ORDER BY id FOR UPDATE",
      { first, first + 19 }
    )
    tx:batch(function()
      for _, row in ipairs(rows) do
        tx:exec("UPDATE counters SET n = ? WHERE id = ?", { row.n + 1, row.id })
      end
    end)
  end)
  return { updated = 20 }
end)

-- Not measured: after each run it tells whether everything that was acknowledged is there.
app.get("/count", function()
  return db.one("SELECT (SELECT count(*) FROM events) AS count, (SELECT sum(n) FROM counters) AS sum")
end)
