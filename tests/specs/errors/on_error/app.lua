local app = require "sampan"

app.on_error(function(req, err)
  if req.path == "/twice" then error("second failure") end
  if req.path == "/wait" then app.time.sleep(0.005) end
  if req.path == "/own" then return app.text("own: " .. err.message, 418) end
  return { failed = req.path, message = err.message, status = err.status }
end)
app.get("/plain", function() error("first failure", 0) end)
app.get("/twice", function() error("before second", 0) end)
app.get("/wait", function() error("waited failure", 0) end)
app.get("/own", function() error("my words", 0) end)
app.get("/status", function() error({ status = 409, message = "taken" }) end)
app.post("/json", function(req) return req:json() end)
