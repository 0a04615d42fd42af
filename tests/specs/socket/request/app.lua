local app = require "sampan"

app.use("/in/*", app.basic_auth{ users = { ann = "secret" } })
app.use("/as/*", app.bearer_auth{ verify = function(token) return { id = #token, roles = { "a", "b" } } end })
app.use("/in/*", function(req, next)
  req.user = { name = "Ann", tags = { "x" } }
  req.level = 7
  req.find = function() end
  req.state.seen = "yes"
  return next(req)
end)
app.use("/own/*", function(req, next)
  req.auth = "of the script"
  return next(req)
end)
app.use("/large/*", function(req, next)
  req.rows = ("x"):rep(70000)
  return next(req)
end)

local function show(ws, name)
  local req = ws.req
  if name == "base" then
    ws:send(req.method .. " " .. req.path .. " " .. req.url:match("/in.*") .. " " .. req.cookies.a .. " " .. type(req.id))
  elseif name == "user" then
    ws:send(req.user.name .. " " .. req.user.tags[1] .. " " .. req.level .. " " .. tostring(req.find) .. " " .. req.state.seen)
  elseif name == "auth" then
    local auth = req.auth
    ws:send(type(auth) == "table" and auth.id .. " " .. table.concat(auth.roles, " ") or tostring(auth))
  else
    ws:send(tostring(req.state.seen) .. " " .. tostring(req.user) .. " " .. tostring(req.tls) .. " " .. type(req.locale))
  end
end
for _, path in ipairs({ "/in/x", "/as/x", "/own/x", "/large/x", "/none" }) do app.ws(path, { message = show }) end

app.post("/login", function(req) req.session.user = "ann" end)
app.get("/me", function(req) return { user = req.session.user or app.null, seen = req.session.seen or app.null } end)

local function try(ws, act)
  local ok, err = pcall(act)
  ws:send(ok and "done" or tostring(err):match("a socket cannot [^,]*") or tostring(err):match("the session [^:]*") or "?")
end
app.ws("/session", {
  upgrade = function(req)
    if req.query.begin then req.session.user = "new" end
  end,
  message = function(ws, message)
    local session = ws.req.session
    if message == "keys" then
      ws:send(table.concat(session:keys(), " ") .. "|" .. tostring(session:get("user")))
    elseif message == "set" then
      try(ws, function() session.seen = 1 session:set("other", { 2 }) end)
    elseif message == "clear" then
      try(ws, function() session:clear() end)
    elseif message == "regenerate" then
      try(ws, function() session:regenerate() end)
    else
      ws:send(tostring(session[message]))
    end
  end,
})
