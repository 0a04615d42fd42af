local app = require "sampan"

app.post("/login/:id", function(req) req.session.user_id = tonumber(req.params.id) end)
app.get("/me", function(req) return { id = req.session.user_id or 0 } end)
app.post("/end/:id", function(req) return { ended = app.session.end_all({ user_id = tonumber(req.params.id) }) } end)
app.post("/password", function(req)
  local id = req.session.user_id
  local ended = app.session.end_all({ user_id = id })
  req.session:clear()
  req.session.user_id = id
  return { ended = ended }
end)
app.post("/true", function(req) req.session.user_id = true end)
app.post("/end_true", function() return { ended = app.session.end_all({ user_id = true }) } end)
app.post("/key", function() return app.session.end_all({ ["a') OR 1 --"] = 1 }) end)
app.post("/none", function() return app.session.end_all({}) end)
app.post("/keys", function()
  for at = 1, 4 do app.session.end_all({ ["k" .. at] = "x" }) end
end)
app.get("/plan", function()
  return app.db.query("EXPLAIN QUERY PLAN SELECT id FROM _sampan_sessions WHERE json_extract(data, '$.user_id') = 7")
end)
