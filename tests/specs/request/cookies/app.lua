local app = require "sampan"

app.get("/", function(req) return req.cookies end)
app.get("/set", function()
  return app.text("set", { headers = { ["Set-Cookie"] = { "a=1; Path=/", "b=2; HttpOnly" } } })
end)
