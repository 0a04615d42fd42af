local app = require "sampan"

app.post("/change", function() return "changed" end)
