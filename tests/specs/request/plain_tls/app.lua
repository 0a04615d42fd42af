local app = require "sampan"

app.get("/", function(req)
  return { is_nothing = req.tls == nil }
end)
