local app = require "sampan"

app.get("/sort", function()
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b)
    app.time.sleep(0.001)
    return a < b
  end)
  return list
end)
app.get("/gsub", function()
  return (("abc"):gsub("%w", function(c)
    app.time.sleep(0.001)
    return c
  end))
end)
app.get("/after", function()
  app.time.sleep(0.001)
  return "after"
end)
