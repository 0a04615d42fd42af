local app = require "sampan"

app.get("/taken.txt", function() return "route" end)
app.get("/items/:id", function(req) return "item " .. req.params.id end)
app.post("/hello.txt", function() return "posted" end)
app.get("/*rest", function(req) return app.text("rest " .. req.params.rest, 404) end)
