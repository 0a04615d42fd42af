local app = require "sampan"

app.post("/echo", function(req) return req:json() end)
app.post("/wrapped", function(req) return { got = req:json() } end)
