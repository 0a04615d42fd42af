local app = require "sampan"

app.get("/page", function(req) return req:render("page.html", { count = 1 }) end)
app.get("/plain", function() return app.render("plain.html") end)
app.get("/wrong", function(req) return req:render("wrong.html") end)
