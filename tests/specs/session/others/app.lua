local app = require "sampan"

app.post("/login/:id", function(req) req.session.user_id = tonumber(req.params.id) end)
app.get("/me", function(req) return { id = req.session.user_id or 0 } end)
app.post("/end/:id", function(req)
  return { ended = app.session.end_all({ user_id = tonumber(req.params.id) }, req.session) }
end)
app.post("/renew/:id", function(req)
  local id = tonumber(req.params.id)
  req.session:regenerate()
  req.session.renewed = true
  return { ended = app.session.end_all({ user_id = id }, req.session) }
end)
app.get("/list/:id", function(req)
  local list = app.session.list({ user_id = tonumber(req.params.id) }, req.session)
  local current, good, now = 0, 0, app.time.now()
  for _, one in ipairs(list) do
    local is_id = #one.id == 64 and not one.id:find("[^0-9a-f]")
    local is_timely = one.began <= now and one.began > now - 600 and one.ends > now + 600
    if one.current then current = current + 1 end
    if is_id and is_timely then good = good + 1 end
  end
  return { sessions = #list, current = current, good = good }
end)
app.get("/unmarked/:id", function(req)
  return { current = app.session.list({ user_id = tonumber(req.params.id) })[1].current }
end)
app.post("/wrong/end", function() return app.session.end_all({ user_id = 7 }, { except_current = true }) end)
app.get("/wrong/list", function() return app.session.list({ user_id = {} }) end)
