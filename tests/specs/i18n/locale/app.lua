local app = require "sampan"

app.get("/", function(req) return req.locale .. " " .. req.text_direction end)
app.get("/nothing", function() return "plain" end)
app.get("/own", function(req) return app.text(req.locale, { headers = { ["Content-Language"] = "x" } }) end)
