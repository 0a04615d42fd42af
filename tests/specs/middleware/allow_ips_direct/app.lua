local app = require "sampan"

app.use("/here/*", app.allow_ips{ networks = { "127.0.0.1", "::1" } })
app.get("/here/in", function(req) return req.ip end)
app.get("/here/fixed", { fixed = true })
