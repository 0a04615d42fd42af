local app = require "sampan"

app.get("/variable", function() return os.getenv("HOME") end)
