local app = require "sampan"

app.get("/", function() return app.text("x", { headers = { ["Set-Cookie"] = { "a=1", "b=2" }, ["X-One"] = "1" } }) end)
app.get("/away", function() return app.redirect("/größe x") end)
app.get("/html", function() return app.html(nil) end)
app.get("/status", function() return app.redirect("/", 200) end)
