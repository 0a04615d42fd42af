local app = require "sampan"

app.use(app.secure_headers())
app.use("/api/*", app.cors{ origins = { "https://app.example" } })
app.use("/admin/*", app.bearer_auth{ tokens = { ci = "token-1" } })
app.use("/few/*", app.rate_limit{ limit = 1, per = 3600 })
app.on_error(function(req, err) return { mine = err.message, who = req.auth } end)
for _, path in ipairs{ "/api/items", "/admin/items", "/few/items" } do
  app.post(path, function(req) return req.body end)
end
