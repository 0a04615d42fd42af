local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, password TEXT, role TEXT)")
  db.exec("INSERT OR REPLACE INTO users VALUES ('ann', 'secret', 'admin')")
end)

app.use("/admin/*", app.basic_auth{ verify = function(user, password, req)
  app.time.sleep(0.001)
  if user == "boom" then error("verify broke") end
  if user == "yes" then return true end
  local found = db.one("SELECT name, role FROM users WHERE name = ? AND password = ?", { user, password })
  if found then found.path = req.path end
  return found
end })
app.use("/admin/*", function(req, next)
  local res = next(req)
  if req.auth ~= true then res.headers["x-role"] = req.auth.role end
  return res
end)
app.use("/api/*", app.bearer_auth{ realm = "api", verify = function(token) return token == "t" and token or false end })
app.get("/admin/me", function(req) return req.auth end)
app.get("/admin/yes", function(req) return { req.auth } end)
app.get("/api/me", function(req) return req.auth end)

-- What means "no" in a language, each as a token.
local nobody = { ["false"] = false, zero = 0, minus = -0.0, nan = 0 / 0, empty = "" }
app.use("/falsy/*", app.bearer_auth{ verify = function(token)
  if token == "thenable" then return nil end
  return nobody[token]
end })
app.get("/falsy/me", function(req) return { auth = req.auth } end)

-- Two guards: what the second one decides counts, whatever was read before.
app.use("/both/*", app.basic_auth{ verify = function(user) return { user = user } end })
app.use("/both/*", function(req, next)
  req.session.seen = req.auth.user
  return next(req)
end)
app.use("/both/second/*", app.rate_limit{ limit = 1000, per = 60, key = function(req) return req.auth.user end })
app.use("/both/second/*", app.basic_auth{ verify = function(user) return { user = user .. " again" } end })
app.get("/both/first", function(req) return req.auth end)
app.get("/both/second/me", function(req) return { user = req.auth.user, seen = req.session.seen } end)
