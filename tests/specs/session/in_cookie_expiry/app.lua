local app = require "sampan"

app.get("/begin/:name", function(req) req.session.user = req.params.name end)
app.get("/me", function(req) return { user = req.session.user or "nobody" } end)
app.get("/logout", function(req) req.session:clear() end)
