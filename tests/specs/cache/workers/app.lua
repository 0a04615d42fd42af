local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS calls (n INTEGER)")
db.exec("CREATE TABLE IF NOT EXISTS counts (n INTEGER)")
db.exec("INSERT INTO counts (n) VALUES (0)")

app.get("/once", function()
  return cache.once("made", function()
    db.exec("INSERT INTO calls (n) VALUES (1)")
    time.sleep(0.02)
    return "made"
  end)
end)
app.get("/calls", function() return db.one("SELECT count(*) AS n FROM calls") end)

-- What one has written under the lock is read by the next, on whichever worker.
app.post("/count", function()
  app.lock("count", { timeout = 60 }, function()
    local n = db.one("SELECT max(n) AS n FROM counts").n
    time.sleep(0.001)
    db.exec("UPDATE counts SET n = ?", { n + 1 })
  end)
  return "counted"
end)
app.get("/count", function() return db.one("SELECT max(n) AS n FROM counts") end)
