local app = require "sampan"

local written = 0
app.get("/endless", function()
  return app.stream(function(write)
    while true do
      write("x")
      written = written + 1
      app.time.sleep(0.005)
    end
  end)
end)
app.get("/settled", function()
  local before = written
  app.time.sleep(0.1)
  return { wrote = before > 0, goes_on = written > before }
end)
