local app = require "sampan"
local db = app.db

app.get("/begin", function(req) req.session.user = "ann" return { ok = true } end)
app.get("/me", function(req) return { user = req.session.user or "nobody" } end)
app.get("/count", function() return db.one("SELECT count(*) AS n FROM _sampan_sessions") end)
app.get("/ends", function() return db.one("SELECT max(ends - began) >= 3200 AS moved FROM _sampan_sessions") end)
