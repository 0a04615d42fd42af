local app = require "sampan"
local db, time = app.db, app.time

-- Where a request has a name for it, it stops there until another one lets it go.
app.get("/prepare", function()
  db.exec("CREATE TABLE stops (name TEXT PRIMARY KEY, is_over INTEGER NOT NULL)")
end)
local function wait_for(name, is_over)
  while not db.one("SELECT 1 AS is_there FROM stops WHERE name = ? AND is_over = ?", { name, is_over }) do
    time.sleep(0.01)
  end
end
local function stop(req)
  local name = req.query.stop
  if name then
    db.exec("INSERT INTO stops VALUES (?, 0)", { name })
    wait_for(name, 1)
  end
end
app.get("/stops/:name", function(req) wait_for(req.params.name, 0) end)
app.get("/go/:name", function(req) db.exec("UPDATE stops SET is_over = 1 WHERE name = ?", { req.params.name }) end)

app.get("/begin", function(req) req.session.a = 0 req.session.b = 0 end)
app.get("/slow/:key/:value", function(req)
  local before = req.session.a
  stop(req)
  req.session[req.params.key] = req.params.value
  return { before = before }
end)
app.get("/flash/:text", function(req)
  req:flash("notice", req.params.text)
  stop(req)
end)
app.get("/take", function(req)
  local messages = req:flashes()
  stop(req)
  return messages
end)
app.get("/slow_login", function(req)
  req.session:regenerate()
  stop(req)
  req.session.user = "ann"
end)
app.get("/login_beside/:name", function(req)
  local before = req.session.cart
  stop(req)
  req.session:regenerate()
  req.session.user = req.params.name
  return { before = before }
end)
app.get("/fill", function(req) req.session.cart = "full" end)
app.get("/full", function()
  return db.query("SELECT data FROM _sampan_sessions WHERE CAST(data AS TEXT) LIKE '%full%' ORDER BY CAST(data AS TEXT)")
end)
app.get("/logout", function(req) req.session:clear() end)
app.get("/renew", function(req) req.session:regenerate() end)
app.get("/enter/:user", function(req) req.session.user = req.params.user end)
app.get("/slow_renew", function(req)
  local before = req.session.user
  stop(req)
  req.session:regenerate()
  return { before = before }
end)
app.get("/open/:user", function(req) return { open = #app.session.list({ user = req.params.user }) } end)
app.get("/end_others/:user", function(req)
  return { ended = app.session.end_all({ user = req.params.user }, req.session) }
end)
app.get("/end_others/:user/renew", function(req)
  local ended = app.session.end_all({ user = req.params.user }, req.session)
  req.session:regenerate()
  return { ended = ended }
end)
app.get("/slow_logout", function(req)
  local session = req.session
  stop(req)
  session:clear()
end)
app.get("/all", function(req)
  local all = {}
  for key, value in pairs(req.session) do all[key] = value end
  return app.json.object(all)
end)
app.get("/flashes", function(req)
  local texts = {}
  for i, message in ipairs(req:flashes()) do texts[i] = message.message end
  table.sort(texts)
  return app.json.array(texts)
end)
app.get("/rows", function() return db.query("SELECT data FROM _sampan_sessions") end)
