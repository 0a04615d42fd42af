local app = require "sampan"

app.get("/users/:id", function() return "first" end)
app.get("/users/:name", function() return "second" end)
