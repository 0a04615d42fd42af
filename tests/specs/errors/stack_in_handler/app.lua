local app = require "sampan"

app.get("/direct", function(req)
  return req.nothing.name
end)
