local app = require "sampan"

app.get("/", "all")
app.host("api.example.org", function(api) api.get("/", "api") end)
