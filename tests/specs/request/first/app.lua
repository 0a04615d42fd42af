local app = require "sampan"

app.get("/", function(req) return { tag = app.first(req.query.tag), list = type(req.query.tag) == "table" } end)
app.post("/", function(req) return { tag = app.first(req:form().tag) } end)
