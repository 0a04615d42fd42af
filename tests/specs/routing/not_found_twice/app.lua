local app = require "sampan"

app.not_found(function() return "first" end)
app.not_found(function() return "second" end)
