local app = require "sampan"

app.group("/api", function(api)
  api.use(app.cors{ origins = "*" })
  api.get("/version", { version = "1" })
end)
app.get("/version", { version = "1" })
