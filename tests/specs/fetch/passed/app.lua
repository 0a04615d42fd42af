local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

app.post("/up/length", { stream = true }, function(req)
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes, length = req.headers["content-length"], coding = req.headers["transfer-encoding"] }
end)

app.post("/upload", { stream = true }, function(req)
  return app.fetch(up(req, "length"), { headers = req.headers, body = req:chunks() })
end)
app.post("/without", { stream = true }, function(req)
  return app.fetch(up(req, "length"), { body = req:chunks() })
end)
app.get("/strange", function(req)
  return app.fetch("http://" .. req.headers["x-strange"] .. "/", { stream = true })
end)
app.get("/own", function() return app.text("strange", 999) end)
