local app = require "sampan"

app.get("/page", function() return app.file("404.html", { folder = "public" }, 404) end)
