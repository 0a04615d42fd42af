local app = require "sampan"

app.get("/", function(req) return { ip = req.ip, url = req.url } end)
