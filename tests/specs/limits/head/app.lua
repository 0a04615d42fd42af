local app = require "sampan"

app.get("/*", function() return "fine" end)
