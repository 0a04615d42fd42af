local app = require "sampan"

app.all("/change", function(req) return req.method end)
app.post("/fixed", { done = true })
app.get("/fixed", { done = false })
