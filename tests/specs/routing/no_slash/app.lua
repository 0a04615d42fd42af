local app = require "sampan"

app.get("users", function() return "never" end)
