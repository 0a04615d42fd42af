local app = require "sampan"

app.get("/page", function() return app.render("page.html") end)
app.get("/missing", function() return app.render("missing.html") end)
app.get("/wrong", function() return app.render("wrong.html") end)
app.get("/url", function(req) return app.asset(req.query.name) end)
app.on_error(function(_, err) return app.text(err.message, err.status) end)
