local app = require "sampan"

app.use("/r", app.rate_limit)
app.get("/r", function() return "never" end)
