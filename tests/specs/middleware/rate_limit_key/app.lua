local app = require "sampan"

app.use(function(req, next)
  local res = next(req)
  res.headers["x-outer"] = "ran"
  return res
end)
app.use("/per/:user/*", app.rate_limit{ limit = 1, per = 3600, key = function(req)
  app.time.sleep(0.001)
  local user = req.path:match("^/per/([^/]+)")
  if user == "admin" then return nil end
  if user == "seven" then return 7 end
  if user == "table" then return { user } end
  if user == "broken" then error("no key") end
  return user
end })
app.get("/per/:user/things", function(req) return req.params.user end)
app.on_error(function(req, err) return app.text("error " .. err.status, err.status) end)
