local app = require "sampan"

app.get("/table", function() return { a = 1 } end)
app.get("/list", function() return { 1, 2, 3 } end)
app.get("/empty", function() return {} end)
app.get("/array", function() return app.json.array {} end)
app.get("/text", function() return "größe" end)
app.get("/blank", function() return "" end)
app.get("/nothing", function() end)
app.get("/nil", function() return nil end)
app.get("/true", function() return true end)
app.get("/false", function() return false end)
app.get("/whole", function() return 7 end)
app.get("/fraction", function() return 1.5 end)
app.get("/function", function() return function() end end)
app.get("/cycle", function()
  local t = {}
  t.t = t
  return t
end)
app.get("/deep", function()
  local t = {}
  for _ = 1, 1000 do t = { t } end
  return t
end)
