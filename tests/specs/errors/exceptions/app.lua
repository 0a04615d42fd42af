local app = require "sampan"

app.get("/plain", function() error("plain secret") end)
app.get("/string", function() error("string secret", 0) end)
app.get("/table", function() error({ some = "value" }) end)
app.get("/nil", function()
  local t = nil
  return t.field
end)
app.get("/status", function() error({ status = 404, message = "no such user" }) end)
app.get("/status/500", function() error({ status = 502, message = "hidden secret" }) end)
app.get("/status/odd", function() error({ status = 200, message = "odd status" }) end)
app.get("/status/fraction", function() error({ status = 404.5, message = "fraction status" }) end)
app.get("/late", function()
  app.time.sleep(0.005)
  error("late secret")
end)
app.get("/nested", function()
  local function inner() error("nested secret") end
  local function outer() inner() end
  outer()
end)
