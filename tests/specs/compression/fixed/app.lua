local app = require "sampan"
local TEXT = ("all work and no play makes jack a dull boy. "):rep(20)

app.get("/text", TEXT)
app.get("/small", "small")
app.get("/secret", { compress = false }, function(req) return (req.query.q or "") .. TEXT end)
app.get("/secret_value", { compress = false }, TEXT)
app.get("/public", { compress = true }, function() return TEXT end)
