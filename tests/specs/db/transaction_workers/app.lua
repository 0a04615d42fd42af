local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY, n INTEGER)")
db.exec("INSERT INTO counter (id, n) VALUES (1, 0) ON CONFLICT DO NOTHING")

-- PostgreSQL does not let transactions take turns: they lock what they read and then write.
local READ = "SELECT n FROM counter" .. (db.dialect() == "postgres" and " FOR UPDATE" or "")

app.get("/count", function() return db.one("SELECT n FROM counter") end)
app.get("/add", function()
  return db.transaction(function(tx)
    local n = tx:one(READ).n
    time.sleep(0.002)
    tx:exec("UPDATE counter SET n = ?", { n + 1 })
    return { ok = true }
  end)
end)
app.post("/add", function()
  db.exec("UPDATE counter SET n = n + 1")
  return { ok = true }
end)
app.get("/fail", function()
  db.transaction(function(tx)
    tx:exec("UPDATE counter SET n = 1000000")
    time.sleep(0.002)
    error({ status = 409, message = "no" })
  end)
end)
