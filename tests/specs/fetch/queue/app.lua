local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

app.get("/up/endless", function()
  return app.stream(function(write)
    while true do
      write("x")
      app.time.sleep(0.002)
    end
  end)
end)
app.get("/up/short", function() return "short" end)

app.get("/waits", function(req)
  app.fetch(up(req, "endless"), { stream = true })
  local ok, err = pcall(app.fetch, up(req, "short"), { timeout = { connect = "30ms" } })
  return err.code
end)
app.get("/fetches", function(req) return app.fetch(up(req, "short")):text() end)
