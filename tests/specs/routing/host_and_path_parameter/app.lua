local app = require "sampan"

app.host(":id.example.org", function(tenant) tenant.get("/users/:id", "never") end)
