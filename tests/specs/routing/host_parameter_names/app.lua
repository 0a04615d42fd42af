local app = require "sampan"

app.host(":tenant.example.org", function(tenant) tenant.get("/a", "never") end)
app.host(":customer.Example.org.", function(customer) customer.use(function(req, next) return next(req) end) end)
