-- The app that `cargo xtask soak` loads, kills and reloads. app.js is its twin: they take turns on one database.
local app = require "sampan"
local db, files, time = app.db, app.files, app.time
local SLOW = { slow = true }
local ROWS = 10

local INSERT = "INSERT INTO writes (writer, seq, value) VALUES (?, ?, ?)"

-- The request's writer, number and value.
local function asked(req) return tonumber(req.params.writer), tonumber(req.params.seq), req:json().value end

local function told(writer, seq, rows) return { writer = writer, seq = seq, rows = rows } end

local function write(req)
  local writer, seq, value = asked(req)
  db.exec(INSERT, { writer, seq, value })
  return told(writer, seq, 1)
end
app.post("/write/:writer/:seq", write)
app.post("/slow-write/:writer/:seq", SLOW, write)

app.post("/late/:writer/:seq", function(req)
  local answer = write(req)
  time.sleep(0.01)
  return answer
end)

app.post("/batch/:writer/:seq", function(req)
  local writer, seq, value = asked(req)
  db.batch(function()
    for at = seq, seq + ROWS - 1 do db.exec(INSERT, { writer, at, value }) end
  end)
  return told(writer, seq, ROWS)
end)

app.post("/transaction/:writer/:seq", function(req)
  local writer, seq, value = asked(req)
  return db.transaction(function(tx)
    for at = seq, seq + ROWS - 1 do
      tx:exec(INSERT, { writer, at, value })
      if at == seq then time.sleep(0.001) end
    end
    return told(writer, seq, ROWS)
  end)
end)

app.get("/value/:writer/:seq", function(req)
  local row = db.one("SELECT value FROM writes WHERE writer = ? AND seq = ?",
    { tonumber(req.params.writer), tonumber(req.params.seq) })
  return { value = row and row.value or "" }
end)

app.get("/rows/:writer/:after", function(req)
  return { rows = db.one([[SELECT coalesce(group_concat(seq || ':' || value), '') AS rows FROM
    (SELECT seq, value FROM writes WHERE writer = ? AND seq > ? ORDER BY seq LIMIT 1000)]],
    { tonumber(req.params.writer), tonumber(req.params.after) }).rows }
end)

app.post("/forget/:writer/:seq", function(req)
  db.exec("DELETE FROM writes WHERE writer = ? AND seq <= ?", { tonumber(req.params.writer), tonumber(req.params.seq) })
  return {}
end)

app.get("/integrity", function() return { found = db.one("PRAGMA integrity_check").integrity_check } end)

-- Sessions

local function session(req) return { name = req.session.name or "", number = req.session.number or 0 } end

app.post("/session/:name/:number", function(req)
  req.session.name = req.params.name
  req.session.number = tonumber(req.params.number)
  return session(req)
end)
app.get("/session", session)
app.get("/session/slow", SLOW, session)

-- Answers that belong to their requests

app.get("/echo/:token", function(req)
  time.sleep(0.002)
  return { token = req.params.token, header = req.headers["x-token"] }
end)

app.get("/compute/:seed/:rounds", function(req)
  local x = tonumber(req.params.seed)
  for _ = 1, tonumber(req.params.rounds) do x = x * 16807 % 2147483647 end
  return { result = x }
end)

-- Uploads

app.post("/uploads/:id", { stream = true }, function(req)
  local file = req:form().file
  file:save("uploads/" .. req.params.id)
  return { id = req.params.id, size = file.size }
end)
app.get("/uploads/:id", function(req) return app.file(req.params.id, { folder = "storage/uploads" }) end)
app.post("/uploads/:id/remove", function(req)
  files.remove("uploads/" .. req.params.id)
  return {}
end)

-- Jobs

app.job("finish", { attempts = 20, backoff = 0.5 }, function(args)
  db.exec("UPDATE wanted SET done = done + 1 WHERE client = ? AND seq = ?", { args.client, args.seq })
end)

app.post("/jobs/:writer/:seq", function(req)
  local client, seq = asked(req)
  db.batch(function()
    db.exec("INSERT INTO wanted (client, seq) VALUES (?, ?)", { client, seq })
    app.enqueue("finish", { client = client, seq = seq })
  end)
  return told(client, seq, 1)
end)

app.get("/jobs/:writer/:after", function(req)
  return { rows = db.one([[SELECT coalesce(group_concat(seq || ':' || done), '') AS rows FROM
    (SELECT seq, done FROM wanted WHERE client = ? AND seq > ? ORDER BY seq LIMIT 1000)]],
    { tonumber(req.params.writer), tonumber(req.params.after) }).rows }
end)

-- Sockets

app.ws("/rooms/:room/:name", {
  open = function(ws)
    ws:subscribe("room:" .. ws.req.params.room)
    ws:send("open")
  end,
  message = function(ws, text)
    local message = ws.req.params.name .. " " .. text
    if text:find("^echo") then return ws:send(message) and nil end
    app.publish("room:" .. ws.req.params.room, message)
  end,
})
