local app = require "sampan"

app.post("/change", function() return "changed" end)
app.post("/hooks", function() return "the path itself" end)
app.post("/hooks/:name", function(req) return req.params.name end)
app.on_error(function(req, err) return app.text("page: " .. err.message:sub(1, 7), err.status) end)
