local app = require "sampan"

local called = 0
app.on_error(function(req, err)
  called = called + 1
  while true do end
end)
app.get("/loop", function() while true do end end)
app.get("/fail", function() error("first") end)
app.get("/called", function() return { called = called } end)
