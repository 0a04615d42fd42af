local app = require "sampan"

app.get("/id", function(req) app.log.info("seen") return req.id end)
app.get("/quiet", function() return "quiet" end)
app.get("/own", function(req) return app.text(req.id, { headers = { ["x-request-id"] = "own" } }) end)
app.get("/boom", function() error("boom") end)
