-- What depends on a transaction that is another request's: Lua refuses to use it.
local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local ADD = "INSERT INTO t (name) VALUES (?)"
local kept

app.get("/names", function()
  local names = app.json.array {}
  for i, row in ipairs(db.query("SELECT name FROM t ORDER BY name")) do names[i] = row.name end
  return names
end)
app.get("/hold/:how", function(req)
  local how = req.params.how
  local ok = pcall(db.transaction, function(tx)
    kept = tx
    tx:exec(ADD, { "held " .. how })
    time.sleep(0.8)
    if how == "fails" then error("no more") end
  end)
  return { ok = ok }
end)
app.get("/use/:name", function(req)
  kept:exec(ADD, { req.params.name })
  return { ok = true }
end)
app.get("/see", function() return kept:query("SELECT name FROM t ORDER BY name") end)
app.get("/use-and-wait/:name", function(req)
  kept:exec(ADD, { req.params.name })
  time.sleep(1)
  return { ok = true }
end)
app.get("/stream/:name", function(req)
  return app.stream(function(write)
    write("before ")
    if req.params.name ~= "none" then kept:exec(ADD, { req.params.name }) end
    write("after")
  end)
end)
local function not_awaited(how)
  db.transaction(function(tx)
    time.sleep(0.2)
    tx:exec(ADD, { "not awaited " .. how })
    if how:find("fails") then error("no more") end
  end)
end
app.get("/not-awaited/:how", function(req)
  not_awaited(req.params.how)
  return { ok = true }
end)
app.get("/stream-not-awaited/:how", function(req)
  return app.stream(function(write)
    write("before")
    not_awaited(req.params.how)
  end)
end)
app.ws("/socket-not-awaited/:how", {
  upgrade = function(req) not_awaited(req.params.how) end,
  open = function(ws) ws:send("open") end,
})
