local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS counts (n INTEGER)")
db.exec("INSERT INTO counts (n) VALUES (0)")

local function wait_for(key)
  while cache.get(key) == nil do time.sleep(0.002) end
end

-- Without the lock some would read the number that another is about to write.
app.post("/count", function()
  return { n = app.lock("count", function()
    local n = db.one("SELECT n FROM counts").n
    time.sleep(0.001)
    db.exec("UPDATE counts SET n = ?", { n + 1 })
    return n
  end) >= 0 }
end)
app.get("/count", function() return db.one("SELECT n FROM counts") end)

app.get("/hold", function()
  return app.lock("held", { timeout = 60 }, function()
    cache.set("held", true)
    wait_for("may end")
    return "held"
  end)
end)
app.get("/busy", function()
  wait_for("held")
  local ok, err = pcall(app.lock, "held", { timeout = 0 }, function() return "not called" end)
  local other = app.lock("another", function() return "another is free" end)
  cache.set("may end", true)
  return { ok, err.code, err.status, other, app.lock("held", function() return "mine now" end) }
end)
app.get("/unhandled", function()
  return app.lock("a", function() return app.lock("a", { timeout = 0.01 }, function() end) end)
end)
app.get("/throws", function()
  local ok, err = pcall(app.lock, "t", function() error({ code = "own" }) end)
  return { ok, err.code, app.lock("t", { timeout = 0 }, function() return "free" end) }
end)
app.get("/results", function()
  return { app.lock("r", function(...) return select("#", ...) >= 0, { 2 } end) }
end)
app.get("/nothing", function() return { nothing = app.lock("n", function() end) == nil } end)
app.get("/name", function() app.lock("", function() end) end)
app.get("/timeout", function() app.lock("a", { timeout = -1 }, function() end) end)
app.get("/option", function() app.lock("a", { wait = 1 }, function() end) end)
app.get("/no-function", function() app.lock("a", { timeout = 1 }) end)
