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
