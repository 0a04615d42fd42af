local app = require "sampan"

app.get("/here", function() return "here" end)
