local app = require "sampan"

app.on_start(function()
  app.time.sleep(0.001)
  error("no seed data")
end)
app.get("/", function() return "never" end)
