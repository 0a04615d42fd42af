local app = require "sampan"

app.get("/status", function() return { error = "none" }, 404 end)
app.get("/count", function() return ("a-b"):gsub("-", "+") end)
app.use("/wrapped/*", function(req, next) return next(req) end)
app.get("/wrapped/status", function() return "none", 404 end)
app.get("/wrapped/count", function() return ("a-b"):gsub("-", "+") end)
