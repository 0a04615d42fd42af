local app = require "sampan"

app.get("/set", function(req)
  local session = req.session
  session.user_id = 7
  session.name = "Größe \"x\""
  session.big = 9007199254740993LL
  session.ratio = 1.5
  session.yes = true
  session.cart = { { id = 1, tags = { "a", "b" } }, { id = 2, tags = app.json.array {} } }
  session["odd key"] = { a = { b = { c = 1 } } }
  return { session.user_id, session.name, session.cart[1].tags[2] }
end)

app.get("/get", function(req)
  local s = req.session
  return { user_id = s.user_id, name = s.name, big = s.big, ratio = s.ratio, yes = s.yes, cart = s.cart, odd = s["odd key"],
    none = s.none == nil, keys = s:keys() }
end)

app.get("/change", function(req)
  local s, session = req.session, req.session
  s.user_id = nil
  session:set("name", nil)
  session:set("user_id", session:get("name"))
  s.big, s.ratio, s.yes = nil, nil, nil
  s["odd key"] = nil
  local cart = s.cart
  cart[1].id = 100
  s.copied = s.cart[1].id
  s.cart = cart
  return s:keys()
end)

app.get("/all", function(req)
  local all = {}
  for key, value in pairs(req.session) do all[#all + 1] = { key, value } end
  return all
end)

app.get("/refused/:what", function(req)
  local what, session = req.params.what, req.session
  if what == "function" then session.f = print
  elseif what == "bytes" then session.b = "\255"
  elseif what == "nan" then session.n = 0 / 0
  elseif what == "method" then session.clear = 1
  elseif what == "own" then session._flash = 1
  elseif what == "large" then session.large = ("x"):rep(2000)
  elseif what == "session" then session.session = session
  end
end)

app.get("/caught", function(req)
  req.session.small = 1
  local ok, err = pcall(function() req.session.large = ("x"):rep(2000) end)
  return { ok = ok, message = tostring(err), large = req.session.large == nil, small = req.session.small }
end)
