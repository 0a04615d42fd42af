local app = require "sampan"

app.get("/list", { etag = true }, function() return { 1, 2, 3 } end)
app.get("/fixed", { etag = true }, "always the same")
app.get("/own", { etag = true }, function() return app.text("mine", { headers = { etag = '"v1"', ["cache-control"] = "no-cache" } }) end)
app.get("/long", { etag = true }, function() return ("all work and no play "):rep(100) end)
app.get("/failed", { etag = true }, function() return app.text("no", 403) end)
app.get("/without", function() return "plain" end)
app.get("/empty", { etag = true }, function() end)
