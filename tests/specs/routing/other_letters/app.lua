local app = require "sampan"

app.get("/é/a b/{x}", function() return "found" end)
