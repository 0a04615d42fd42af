local app = require "sampan"

app.get("/", function() return return "twice" end)
