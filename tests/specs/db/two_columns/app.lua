local app = require "sampan"

app.get("/", function() return app.db.query("SELECT 1 AS id, 'a' AS name, 2 AS id") end)
app.get("/field", function() return { id = app.db.one("SELECT 1 AS id, 2 AS id").id } end)
app.get("/added", function()
  local row = app.db.one("SELECT 1 AS z, NULL AS y")
  row.b, row.a = 1, 2
  return row
end)
