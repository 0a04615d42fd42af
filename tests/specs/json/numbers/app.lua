local app = require "sampan"

app.get("/nan", function() return { x = 0 / 0 } end)
app.get("/infinity", function() return { x = math.huge } end)
app.get("/negative", function() return { x = -math.huge } end)
app.get("/zero", function() return { x = 0 } end)
app.get("/minus_zero", function() return { x = { 0 / -1 } } end)
app.get("/tiny", function() return { x = 5e-324, y = 1.7976931348623157e308, z = 0.1 + 0.2 } end)
