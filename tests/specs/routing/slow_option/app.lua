local app = require "sampan"
app.get("/", { slow = "yes" }, function() return "never" end)
