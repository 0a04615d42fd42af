local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

app.get("/up/endless", function()
  return app.stream(function(write)
    local piece = ("x"):rep(65536)
    while true do write(piece) end
  end)
end)
app.post("/up/never", { stream = true }, function(req)
  for _ in req:chunks() do end
end)

app.get("/whole", function(req)
  local ok, err = pcall(app.fetch, up(req, "endless"))
  return { ok = ok, code = err.code }
end)
app.get("/empty-pieces", function(req)
  local ok, err = pcall(app.fetch, up(req, "never"), {
    method = "POST", timeout = 0.3, body = function() return "" end,
  })
  return { ok = ok, code = err.code }
end)
