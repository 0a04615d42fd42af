local app = require "sampan"

app.use(function(req, next)
  local begun = app.time.now_ms()
  local ok, res = pcall(next, req)
  if not ok then return app.text("failed below next", 500) end
  res.headers["x-waited"] = tostring(app.time.now_ms() - begun >= 29)
  app.time.sleep(0.005)
  return res
end)
app.get("/sleep", function()
  app.time.sleep(0.03)
  return "slept"
end)
app.get("/fail", function()
  app.time.sleep(0.005)
  error("after sleep")
end)
