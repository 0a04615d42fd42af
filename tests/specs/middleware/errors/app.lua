local app = require "sampan"

app.use("/caught/*", function(req, next)
  local ok, res = pcall(next, req)
  if ok then return res end
  return app.json({ caught = tostring(res.message or res):match("[%w ]+$") }, 418)
end)
app.use("/header/*", function(req, next)
  local res = next(req)
  res.headers["x-after"] = "yes"
  return res
end)
app.use("/broken", function() error("middleware broke") end)
app.get("/caught/plain", function() error("plain trouble", 0) end)
app.get("/caught/table", function() error({ status = 404, message = "table trouble" }) end)
app.get("/caught/fine", function() return "fine" end)
app.get("/header/fail", function() error("uncaught trouble") end)
