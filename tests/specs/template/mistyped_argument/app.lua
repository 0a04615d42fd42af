local app = require "sampan"

app.get("/", function() return app.render("page.html") end)
