local app = require "sampan"

app.get("/thing", function() return { ok = true } end)
app.post("/thing", function() return { posted = true } end)
app.options("/own", function() return app.text("mine", { headers = { ["X-Own"] = "yes" } }) end)
app.get("/own", { fixed = true })
