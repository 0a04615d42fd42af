local app = require "sampan"

app.use("*", app.cached{ seconds = 60 })
app.use("/api/*", app.cors{ origins = "*" })
app.get("/api/news", function() return "news" end)
