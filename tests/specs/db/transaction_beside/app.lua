-- Runs beside an open transaction that are not a request's handler.
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS seen (name TEXT)") end)

local function add(name) db.exec("INSERT INTO seen (name) VALUES (?)", { name }) end
local OK = { ok = true }

app.get("/has/:name", function(req)
  local rows = db.query("SELECT name FROM seen WHERE name = ?", { req.params.name })
  return { has = #rows > 0 }
end)
app.get("/hold", function()
  return db.transaction(function(tx)
    tx:exec("INSERT INTO seen (name) VALUES ('held')")
    time.sleep(0.4)
    return OK
  end)
end)

app.ws("/socket", {
  message = function(ws, name)
    add(name)
    ws:send("kept")
  end,
})
app.subscribe("news", function(name) add(name) end, { once = true })
app.get("/publish/:name", function(req)
  app.publish("news", req.params.name)
  return OK
end)
app.job("keep", { attempts = 1 }, function(name)
  time.sleep(0.3)
  add(name)
end)
app.get("/enqueue/:name", function(req)
  app.enqueue("keep", req.params.name)
  return OK
end)
app.get("/end-all", function()
  app.session.end_all({ user = 7 })
  return OK
end)
app.get("/stream/:name", function(req)
  return app.stream(function(write)
    write("before ")
    time.sleep(0.05)
    add(req.params.name)
    write("after")
  end)
end)
app.sse("/feed/:name", function(req, events)
  time.sleep(0.05)
  add(req.params.name)
  events:send("kept")
end)

app.get("/waits", function()
  return db.transaction(function(tx)
    tx:exec("INSERT INTO seen (name) VALUES ('waited')")
    while app.cache.get("settled") == nil do time.sleep(0.01) end
    app.cache.delete("settled")
    return OK
  end)
end)
local function settles()
  app.cache.set("settled", true)
  return OK
end
app.get("/settles", settles)
app.get("/settles-and-writes", settles)
