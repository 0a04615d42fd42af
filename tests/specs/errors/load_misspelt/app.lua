local app = require "sampan"

app.gett("/", function() return "never" end)
