local app = require "sampan"

local schema = { name = { required = true, max = 3 }, city = { required = true }, age = { type = "integer" } }
app.post("/", function(req)
  local _, errors = app.validate(req:json(), schema)
  return errors
end)
