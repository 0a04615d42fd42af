local app = require "sampan"

app.get("/", { name = "home" }, function() return app.url_for("home") end)
app.group("/shop", function(shop)
  shop.get("/owners/:id", { name = "owner" }, function(req) return app.url_for("owner", { id = req.params.id, page = 2 }) end)
  shop.post("/owners/:id", { name = "owner" }, function() return app.redirect(app.url_for("owner", { id = 7 })) end)
end)
app.get("/files/*path", { name = "file", etag = true }, function(req) return app.url_for("file", { path = req.params.path }) end)
app.get("/page", function() return app.render("page.html", { id = "a b" }) end)
app.get("/wrong", function() return app.url_for("ower", { id = 1 }) end)
app.get("/missing", function() return app.url_for("owner") end)
