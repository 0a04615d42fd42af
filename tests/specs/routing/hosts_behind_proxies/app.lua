local app = require "sampan"

app.get("/", "all")
app.host("api.example.org", function(api) api.get("/", "api") end)
app.host(":tenant.example.org", function(tenant)
  tenant.get("/tenant", function(req) return req.params.tenant end)
end)
