local app = require "sampan"

app.use("/stop", function() return app.json({ stopped = true }, 401) end)
app.use("/value", function() return { plain = "value" } end)
app.use("/text", function() return "text" end)
app.use("/nothing", function(req, next) next(req) end)
app.use("/silent", function() end)
app.use("/status", function(req, next)
  local res = next(req)
  res.status = 203
  return res
end)
app.use("/see", function(req, next)
  local res = next(req)
  return { status = res.status, own = res.headers["x-own"] }
end)
app.use("/unknown/*", function(req, next)
  local res = next(req)
  return { inner = res.status }
end)
app.get("/stop", function() error("never reached") end)
app.get("/nothing", function() return { passed = "on" } end)
app.get("/status", function() return { kept = true } end)
app.get("/see", function() return app.text("seen", { status = 201, headers = { ["x-own"] = "yes" } }) end)
