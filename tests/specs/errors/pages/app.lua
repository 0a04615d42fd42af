local app = require "sampan"

app.use(app.secure_headers())
app.get("/", function() return "here" end)
app.get("/fails", function() error("secret") end)
app.get("/taken", function() error({ status = 409, message = "<b>taken</b>" }) end)
app.post("/small", { body_bytes_max = 10 }, function(req) return req.body end)
