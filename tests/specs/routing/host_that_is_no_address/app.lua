local app = require "sampan"

app.host("1.2.3.4.5", function(api) api.get("/", "never") end)
