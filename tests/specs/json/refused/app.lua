local app = require "sampan"

local values = {
  ["function"] = function() return { x = function() end } end,
  cycle = function() local t = {} t.t = t return t end,
  deep = function() local t = {} for _ = 1, 200 do t = { t } end return t end,
  nan = function() return { x = 0 / 0 } end,
  holes = function() return { 1, nil, 3, nil, nil, 6 } end,
  mixed = function() return { 1, x = 2 } end,
  key = function() return { [true] = 1 } end,
  bytes = function() return { x = "\255" } end,
  map = function() return {} end,
}
app.get("/request", function(req) return req end)
app.get("/request/member", function(req) return { req = req } end)
app.get("/returned/:case", function(req) return values[req.params.case]() end)
app.get("/built/:case", function(req) return app.json(values[req.params.case]()) end)
app.get("/encoded/:case", function(req) return app.text(app.json.encode(values[req.params.case]())) end)
