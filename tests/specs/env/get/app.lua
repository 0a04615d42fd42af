local app = require "sampan"

app.get("/", function()
  return { path = #app.env.get("PATH") > 0, missing = app.env.get("SAMPAN_SURELY_NOT_SET") == nil }
end)
app.get("/bad", function() return app.env.get({}) end)
