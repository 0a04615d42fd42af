local app = require "sampan"

local ended = 0
app.get("/never", function()
  app.time.sleep(60)
  return "too late"
end)
app.get("/late", function()
  app.time.sleep(0.8)
  ended = ended + 1
  return "late"
end)
app.get("/ended", function() return { ended = ended } end)
