local app = require "sampan"

app.get("/", { body_bytes = 10 }, function() return "never" end)
