local app = require "sampan"

app.get("/", function(req) return req.session.user end)
