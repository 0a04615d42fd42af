local app = require "sampan"

app.get("/", function()
  app.log.info("below the level")
  app.log.warn("at the level")
  return "logged"
end)
