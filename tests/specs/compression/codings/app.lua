local app = require "sampan"
local TEXT = ("all work and no play makes jack a dull boy. "):rep(20)

app.get("/text", function() return TEXT end)
app.get("/json", function() return { text = TEXT } end)
app.get("/small", function() return ("x"):rep(255) end)
app.get("/smallest", function() return ("x"):rep(256) end)
app.get("/tagged", function() return app.html(TEXT, { headers = { ETag = '"v1"', Vary = "Cookie" } }) end)
app.get("/weak", function() return app.html(TEXT, { headers = { ETag = 'W/"v1"', Vary = "Accept-Encoding" } }) end)
app.get("/fails", function() error { status = 404, message = TEXT } end)
app.post("/text", function(req) return req.body .. TEXT end)
