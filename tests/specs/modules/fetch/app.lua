-- The twin of a JavaScript module with `fetch`: what Lua has for it is a route for everything.
local app = require "sampan"

app.get("/route", function() return "route first" end)
app.all("/*", function(req)
  if req.path == "/json" then return app.json({ method = req.method }, 201) end
  if req.path == "/echo" then return app.text(req:text(), { headers = { ["x-type"] = req.headers["content-type"] } }) end
  -- Lua answers HEAD as GET, whose body it knows; `fetch` answers HEAD itself.
  if req.path == "/nothing" then return app.stream(function() end, { headers = { ["x-url"] = req.url } }) end
  if req.path == "/length" then return app.text(("x"):rep(123)) end
  return app.text("fetch says no", 404)
end)
app.use("*", function(req, next)
  if req.method == "OPTIONS" then return app.text("/", { headers = { ["x-path"] = req.path } }) end
  return next(req)
end)
