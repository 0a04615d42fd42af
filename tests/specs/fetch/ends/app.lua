local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

-- Requests that never end by themselves, and how they ended.
local begun, given_up = 0, 0
local function counted(fn)
  begun = begun + 1
  local ok, err = pcall(fn)
  given_up = given_up + 1
  error(err, 0)
end
app.get("/up/silent", function()
  counted(function() app.time.sleep(600) end)
end)
app.get("/up/endless", function()
  return app.stream(function(write)
    counted(function()
      while true do
        write("x")
        app.time.sleep(0.002)
      end
    end)
  end)
end)
app.get("/counts", function() return { begun = begun, given_up = given_up } end)

app.get("/waits", function(req) return app.fetch(up(req, "silent")) end)
app.get("/reads", function(req) return app.fetch(up(req, "endless")) end)
app.get("/passes", function(req) return app.fetch(up(req, "endless"), { stream = true }) end)
app.get("/ignores", function(req)
  app.fetch(up(req, "endless"), { stream = true })
  return "not read"
end)
local kept = {}
app.get("/keeps", function(req)
  kept[1], kept[2] = req, app.fetch(up(req, "endless"), { stream = true })
  return "kept"
end)
app.get("/late", function(req)
  local fine, err = pcall(app.fetch, up(req, "silent"), { timeout = "30ms" })
  return err.code
end)
app.get("/many", function(req)
  local kept = {}
  local ok, err = pcall(function()
    for at = 1, 200 do kept[at] = app.fetch(up(req, "endless"), { stream = true }) end
  end)
  return { count = #kept, said = tostring(err):match("are under way already"), code = err.code }
end)
