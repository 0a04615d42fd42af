local app = require "sampan"

app.post("/upload", { stream = "yes" }, function() return "never" end)
