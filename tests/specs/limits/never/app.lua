local app = require "sampan"

app.get("/never", function()
  app.time.sleep(60)
  return "too late"
end)
app.get("/fine", function() return "fine" end)
