local app = require "sampan"

local function value()
  local t = { zeta = 1, alpha = { y = 1, x = 2, [""] = 3 }, ["10"] = 4, ["9"] = 5, ["alphabetical"] = 6, ["alphabetic"] = 7, ["é"] = 8 }
  t.gone, t.late = 1, 9
  t.gone = nil
  return t
end
app.get("/returned", value)
app.get("/built", function() return app.json(value()) end)
app.get("/encoded", function() return app.text(app.json.encode(value())) end)
