local app = require "sampan"

app.use("/members/*", function(req, next)
  if req.headers["x-token"] ~= "secret" then return app.text("no", 401) end
  return next(req)
end)
app.use("/members/news", app.cached{ seconds = 60 })
app.get("/members/news", function() return "news" end)
