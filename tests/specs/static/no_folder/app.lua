local app = require "sampan"

app.get("/", function() return "served" end)
