local app = require "sampan"

app.host("api..example", function(api) api.get("/", "never") end)
