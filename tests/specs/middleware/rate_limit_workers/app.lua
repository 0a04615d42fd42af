local app = require "sampan"

app.use("/", app.rate_limit{ limit = 5, per = 3600 })
app.get("/", function() return "in" end)
