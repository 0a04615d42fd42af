local app = require "sampan"

app.get("/at-once", function()
  return app.stream(function() error({ status = 404, message = "no such thing" }) end)
end)
app.get("/later", function()
  return app.stream(function(write)
    write("some")
    error({ status = 410, message = "no more of it" })
  end)
end)
