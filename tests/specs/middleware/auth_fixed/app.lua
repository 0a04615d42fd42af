local app = require "sampan"

app.use("/admin/*", app.basic_auth{ realm = 'the "back" room', users = { ann = "pass:word", ["Zoë"] = "naïve" } })
app.use("/api/*", app.bearer_auth{ tokens = { ci = "token-1", cron = "token-2" } })
app.get("/admin/me", function(req) return req.auth end)
app.get("/admin/fixed", { open = false })
app.get("/api/me", function(req) return req.auth end)
app.get("/open", function(req) return { auth = req.auth or app.null } end)
