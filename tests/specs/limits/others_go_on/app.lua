local app = require "sampan"

app.get("/loop", function() while true do end end)
app.get("/fine", function() return "fine" end)
