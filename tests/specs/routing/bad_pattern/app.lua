local app = require "sampan"

app.get("/files/*rest/more", function() return "never" end)
