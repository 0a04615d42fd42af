local app = require "sampan"

app.post("/login", function(req) req.session.user_id = 7 end)
app.get("/list", function() return { sessions = #app.session.list({ user_id = 7 }) } end)
