local app = require "sampan"

app.post("/", function(req) return app.nested(req:form()) end)
app.get("/", function(req) return app.nested(req.query) end)
app.get("/wrong", function() return app.nested("text") end)
