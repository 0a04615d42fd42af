local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS seen (who TEXT, message TEXT)")
end)

app.subscribe("work", function(message)
  db.exec("INSERT INTO seen VALUES ('each', ?)", { message })
end)

app.subscribe("work", function(message)
  db.exec("INSERT INTO seen VALUES ('once', ?)", { message })
end, { once = true })

app.post("/publish/:message", function(req) app.publish("work", req.params.message) end)
app.get("/seen", function()
  return db.query("SELECT who, message, count(*) AS n FROM seen GROUP BY who, message ORDER BY message, who")
end)
