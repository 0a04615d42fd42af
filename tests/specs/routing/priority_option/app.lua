local app = require "sampan"
app.get("/", { priority = "urgent" }, function() return "never" end)
