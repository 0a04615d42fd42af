local app = require "sampan"

local seen = 0
app.use("/api/*", function(req, next)
  if req.headers["x-key"] ~= "right" then return app.json({ error = "no key" }, 401) end
  local res = next(req)
  res.headers["x-wrapped"] = "yes"
  return res
end)
app.use("/read/*", function(req, next)
  seen = #req:text()
  return next(req)
end)
app.post("/api/count", { stream = true, body_bytes_max = "1 MB" }, function(req)
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes }
end)
app.post("/read/again", { stream = true }, function(req)
  return { seen = seen, again = #req:text(), json = req:json() }
end)
app.post("/read/chunks", { stream = true }, function(req)
  for _ in req:chunks() do end
end)
app.on_error(function(_, err) return { error = err.message } end)
