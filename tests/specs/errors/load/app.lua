local app = require "sampan"

app.get("/", function() return "never" end

app.get("/more", function() return "never" end)
