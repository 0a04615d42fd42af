local app = require "sampan"

app.use("/admin?x=1", function(req, next) return next(req) end)
