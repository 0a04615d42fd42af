local app = require "sampan"

app.get("/here", function() return "here" end)
app.post("/only-post", function() return "posted" end)
app.get("/handler", function() return app.text("own", 404) end)
app.use("/wrapped/*", function(req, next)
  local res = next(req)
  res.headers["x-seen"] = tostring(res.status)
  return res
end)
app.use("/own/*", function(req, next)
  next(req)
  return app.text("instead", 404)
end)
