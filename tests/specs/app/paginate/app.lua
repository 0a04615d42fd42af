local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, name TEXT)")
db.exec("DELETE FROM rows")
db.exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45) INSERT INTO rows SELECT i, 'row ' || i FROM n")

app.get("/", function(req)
  local total = db.one("SELECT count(*) AS n FROM rows").n
  local pages = app.paginate(total, { query = req.query, per_page = 10 })
  local rows = db.query("SELECT id FROM rows ORDER BY id LIMIT ? OFFSET ?", { pages.limit, pages.offset })
  return { pages = pages, rows = #rows, first = rows[1].id }
end)
app.get("/page", function(req)
  return app.render("list.html", { pages = app.paginate(45, { query = req.query, per_page = 10, param = "p" }) })
end)
app.get("/plain", function() return app.paginate(3) end)
app.get("/total", function() return app.paginate(-1) end)
app.get("/size", function() return app.paginate(1, { per_page = 0 }) end)
app.get("/option", function() return app.paginate(1, { size = 3 }) end)
