local app = require "sampan"

app.use("/api/*", app.idempotency{ user = function() return 1 end })
app.post("/api/upload", { stream = true }, function() return "never" end)
