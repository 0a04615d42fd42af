local app = require "sampan"

app.post("/form", function(req) return req:form() end)
app.post("/text", function(req) return #req:text() .. ":" .. req:text() end)
app.post("/bytes", function(req) return { length = #req:bytes(), first = req:bytes():byte(1) or 0 } end)
