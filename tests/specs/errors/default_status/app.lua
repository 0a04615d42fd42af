local app = require "sampan"

app.on_error(function(req, err) return app.text("sorry") end)
app.not_found(function() return app.html("nope") end)
app.get("/plain", function() error("first failure") end)
app.get("/status", function() error({ status = 409, message = "taken" }) end)
