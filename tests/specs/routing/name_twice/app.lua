local app = require "sampan"

app.get("/a", { name = "one" }, function() return "a" end)
app.get("/b", { name = "one" }, function() return "b" end)
