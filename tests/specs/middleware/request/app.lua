local app = require "sampan"

app.use("/user/*", function(req, next)
  req.state.user = req.headers["x-user"]
  if not req.state.user then return app.json({ error = "log in" }, 401) end
  return next(req)
end)
app.get("/user/me", function(req) return { user = req.state.user } end)
app.use("/twice", function(req, next)
  local first, second = next(req), next(req)
  return { first = first.status, second = second.status }
end)
local calls = 0
app.get("/twice", function()
  calls = calls + 1
  return app.text("call", 200 + calls)
end)
