local app = require "sampan"

app.get("/", function() return "in" end)
