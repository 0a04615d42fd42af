local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS seen (messages INTEGER)")
app.post("/leave", function(req)
  req:flash("notice", "saved")
  return app.redirect("/page", 303)
end)
app.get("/page", function(req)
  app.time.sleep(0.01)
  db.exec("INSERT INTO seen VALUES (?)", { #req:flashes() })
  return "page"
end)
app.get("/seen", function() return db.one("SELECT count(*) AS pages, sum(messages) AS messages FROM seen") end)
