local app = require "sampan"

app.get("/session", function(req) req.session = { user_id = 7 } return "lost" end)
app.get("/own", function(req) req.mine = { user_id = 7 } return req.mine end)
