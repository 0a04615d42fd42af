local app = require "sampan"

app.post("/upload", { body_bytes_max = "ten megs" }, function() return "never" end)
