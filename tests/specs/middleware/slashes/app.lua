local app = require "sampan"

app.use("/admin/*", function(req, next)
  if req.query.key == "right" then return next(req) end
  return app.text("refused", 401)
end)
app.get("/page/:name", function(req) return req.params.name end)

-- Some applications decode a path and merge its slashes before they look at it.
app.all("/*", function(req)
  local path = req.path:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end):gsub("/+", "/")
  return path:find("^/admin/") and "secret" or "public"
end)
