local app = require "sampan"

app.host("admin.example.org", function() app.get("/secret", "open to all hosts") end)
