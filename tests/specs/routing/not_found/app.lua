local app = require "sampan"

app.get("/there", function() return "there" end)
app.not_found(function(req)
  if req.path == "/teapot" then return app.text("teapot", 418) end
  return { nothing = req.path }
end)
