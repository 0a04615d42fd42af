local app = require "sampan"

local begun, ended = 0, 0
app.get("/long", function()
  begun = begun + 1
  app.time.sleep(0.25)
  ended = ended + 1
  return "late"
end)
app.get("/rethrown", function()
  local ok, err = pcall(app.time.sleep, 0.25)
  error(err)
end)
app.get("/reason", function() return "an error" end)
app.get("/count", function() return { begun = begun, ended = ended } end)
