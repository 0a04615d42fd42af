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
-- Which ones are that of the request, in the order of the list.
app.get("/order/:id", function(req)
  local list, order = app.session.list({ user_id = tonumber(req.params.id) }, req.session), {}
  for at, one in ipairs(list) do order[at] = one.current end
  return order
end)
-- Ends the newest session of one user as `as`.
app.post("/end_newest/:id/as/:as", function(req)
  local id = app.session.list({ user_id = tonumber(req.params.id) })[1].id
  return { ended = app.session.end_one({ user_id = tonumber(req.params.as) }, id) }
end)
app.post("/end_one/:session", function(req)
  return { ended = app.session.end_one({ user_id = 7 }, req.params.session) }
end)
app.post("/wrong/one", function() return app.session.end_one({}, "") end)
app.get("/late/:id", function(req)
  local id = tonumber(req.params.id)
  req.session:regenerate()
  return app.stream(function(write)
    local ended = app.session.end_all({ user_id = id }, req.session)
    write("ended " .. ended .. ", listed " .. #app.session.list({ user_id = id }, req.session))
  end)
end)
app.post("/wrong/end", function() return app.session.end_all({ user_id = 7 }, { except_current = true }) end)
app.get("/wrong/list", function() return app.session.list({ user_id = {} }) end)
