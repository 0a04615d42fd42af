local app = require "sampan"

for number = 1, 10001 do
  app.get("/page/" .. number, "page")
end
