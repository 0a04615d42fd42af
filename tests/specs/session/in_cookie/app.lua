local app = require "sampan"
local db = app.db

app.get("/login/:name", function(req)
  req.session:regenerate()
  req.session.user = req.params.name
  req:flash("notice", "welcome")
end)
app.get("/me", function(req) return { user = req.session.user, flashes = #req:flashes() } end)
app.get("/large", function(req) req.session.large = ("x"):rep(3000) end)
app.get("/logout", function(req) req.session:clear() end)
app.get("/fail", function(req) req.session.user = "other" error("on purpose") end)
app.get("/tables", function() return db.query("SELECT name FROM sqlite_schema") end)
app.get("/end_one/:id", function(req) return { app.session.end_one({ user = "ann" }, req.params.id) } end)
app.get("/end_all", function() return { app.session.end_all{ user = "ann" } } end)
app.get("/list", function() return app.session.list{ user = "ann" } end)
