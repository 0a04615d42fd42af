local app = require "sampan"

app.host("https://api.example.org", function(api) api.get("/", "never") end)
