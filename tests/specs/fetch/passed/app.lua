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

-- The body of an answer of its own length. It has `bytes` of the 300000 that are declared.
app.get("/up/sized/:bytes", function(req)
  local function write_all(write)
    local left = tonumber(req.params.bytes)
    while left > 0 do
      write(("x"):rep(math.min(left, 70000)))
      left = left - 70000
    end
  end
  return app.stream(write_all, { headers = { ["content-length"] = "300000", ["content-type"] = "text/plain" } })
end)
app.get("/sized", function(req) return app.fetch(up(req, "sized/300000"), { stream = true }) end)
app.get("/up/pieces", function()
  local headers = { ["content-type"] = "text/plain" }
  return app.stream(function(write) write(("x"):rep(300000)) end, { headers = headers })
end)
app.get("/pieces", function(req) return app.fetch(up(req, "pieces"), { stream = true }) end)
