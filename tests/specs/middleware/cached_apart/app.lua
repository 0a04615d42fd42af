local app = require "sampan"

-- No path ends in both, so their order does not matter.
app.use("/docs/:name.html", app.cached{ seconds = 60 })
app.use("/docs/:name.pdf", app.allow_ips{ networks = { "192.0.2.0/24" } })
app.use("/docs/:name.txt", function(req, next) return next(req) end)
app.use("/docs/:name.html", app.cached{ seconds = 60, vary = { "x-tenant" } })
app.get("/docs/:file", function(req) return req.params.file end)
