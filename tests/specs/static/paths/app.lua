local app = require "sampan"

app.get("/none", function() return "" end)
