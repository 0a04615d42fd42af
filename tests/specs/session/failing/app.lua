local app = require "sampan"
local db = app.db
db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE)")

app.get("/begin", function(req) req.session.n = 1 end)
app.get("/fail", function(req)
  req.session.n = 2
  req.session.more = true
  req:flash("notice", "lost")
  error("on purpose")
end)
app.get("/fail_login", function(req) req.session:regenerate() req.session.user = "ann" error("on purpose") end)
app.get("/fail_logout", function(req) req.session:clear() error("on purpose") end)
app.get("/caught", function(req)
  req.session.n = 3
  pcall(error, "caught")
end)
app.get("/undone", function(req)
  req.session.n = 4
  db.exec("INSERT INTO notes VALUES ('x')")
  pcall(db.exec, "INSERT OR ROLLBACK INTO notes VALUES ('x')")
end)
app.get("/all", function(req) return { n = req.session.n, more = req.session.more, user = req.session.user, flashes = #req:flashes() } end)
app.get("/notes", function() return db.query("SELECT * FROM notes") end)
app.get("/refused", function(req) req.session.refused = true error({ status = 422, message = "no" }) end)
app.on_error(function(req, err)
  if req.path == "/refused" then
    req.session.told = (req.session.told or 0) + 1
    return app.text("told " .. tostring(req.session.refused), { status = 422 })
  end
  return app.text("failed", { status = 500 })
end)
app.get("/told", function(req) return { told = req.session.told, refused = req.session.refused } end)
