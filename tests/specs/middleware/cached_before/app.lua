local app = require "sampan"

app.use("/office/*", app.cached{ seconds = 60 })
app.use("/office/plan", app.allow_ips{ networks = { "10.0.0.0/8" } })
app.get("/office/plan", function() return "plan" end)
