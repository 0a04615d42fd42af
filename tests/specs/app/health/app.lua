local app = require "sampan"

app.use(function() return app.json({ error = "nobody may" }, 403) end)
app.get("/_sampan/health", function() return "the app's own" end)
app.get("/_sampan/health/other", function() return "the app's own" end)
