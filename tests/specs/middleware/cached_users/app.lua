local app = require "sampan"

-- An app that says, wrongly, that its answers do not depend on the session's cookie.
app.use("/me", app.cached{ seconds = 600, ignore_cookies = { "session" } })
app.use("/anyone", app.cached{ seconds = 600 })
app.post("/login/:name", function(req) req.session.user = req.params.name end)
app.get("/me", function(req) return req.session.user or "none" end)
app.get("/anyone", function(req) return req.session.user or "none" end)
