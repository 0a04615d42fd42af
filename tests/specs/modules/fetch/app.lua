-- The twin of a JavaScript module with `fetch`: what Lua has for it is a route for everything.
local app = require "sampan"

app.get("/route", function() return "route first" end)
app.all("/*", function(req)
  if req.path == "/json" then return app.json({ method = req.method }, 201) end
  if req.path == "/echo" then return app.text(req:text(), { headers = { ["x-type"] = req.headers["content-type"] } }) end
  return app.text("fetch says no", 404)
end)
