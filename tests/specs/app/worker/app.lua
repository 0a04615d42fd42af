local app = require "sampan"

app.get("/", function() return app.worker end)
