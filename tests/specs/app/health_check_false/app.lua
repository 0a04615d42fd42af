local app = require "sampan"

app.health("at-once", function() return false end)
app.health("later", function()
  app.time.sleep(0.001)
  return false
end)
app.health("nothing", function() end)
app.health("zero", function() return 0 end)
app.health("null", function() return nil end)
app.health("text", function() return "false" end)
app.get("/", function() return "here" end)
