local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (worker INTEGER, what TEXT)")

app.on_start(function()
  db.transaction(function(tx)
    tx:exec("INSERT INTO t VALUES (?, 'inside')", { app.worker.index })
    time.sleep(0.05)
  end)
  db.exec("INSERT INTO t VALUES (?, 'after')", { app.worker.index })
end)
app.get("/", function() return db.query("SELECT what, count(*) AS n FROM t GROUP BY what ORDER BY what") end)
