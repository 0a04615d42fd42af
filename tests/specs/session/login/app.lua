local app = require "sampan"
local db = app.db

app.post("/login/:name", function(req)
  req.session:regenerate()
  req.session.user = req.params.name
  return { ok = true }
end)
app.post("/logout", function(req)
  req.session:clear()
  return { user = req.session.user == nil, keys = #req.session:keys() }
end)
app.post("/switch/:name", function(req)
  req.session:clear()
  req.session.user = req.params.name
end)
app.get("/me", function(req) return { user = req.session.user or "nobody", visits = req.session.visits or 0 } end)
app.post("/visit", function(req) req.session.visits = (req.session.visits or 0) + 1 end)
-- Logs in without a new id, as a careless app does.
app.post("/careless/:name", function(req) req.session.user = req.params.name end)

app.get("/rows", function()
  return db.query([[SELECT length(id) AS length, data FROM _sampan_sessions
    WHERE CAST(data AS TEXT) NOT LIKE '%moved_to%' ORDER BY CAST(data AS TEXT)]])
end)
app.get("/tables", function() return db.query("SELECT name FROM sqlite_schema WHERE name LIKE '_sampan%'") end)
app.get("/forge", function() return db.exec("INSERT INTO _sampan_sessions VALUES (x'00', '{}', 0, 9e15)") end)
