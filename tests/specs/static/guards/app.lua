local app = require "sampan"

app.use("/open/*", app.secure_headers())
app.use("/admin/*", app.basic_auth{ users = { ann = "pass:word" } })
app.use("/api/*", app.bearer_auth{ tokens = { ci = "token-1" } })
app.use("/limited/*", app.rate_limit{ limit = 1, per = 3600 })
app.use("/fonts/*", app.cors{ origins = { "https://a.example" } })
