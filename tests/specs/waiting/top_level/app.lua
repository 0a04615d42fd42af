local app = require "sampan"

app.time.sleep(0.001)
app.get("/", function() return "never" end)
