local app = require "sampan"

app.get("/page", function() return app.render("page.txt", { name = "Ann" }) end)
app.get("/child", function() return app.render("child.txt", { name = "Ann" }) end)
app.get("/fault", function() return app.render("fault.txt") end)
