-- What a handler may do, in the slow lane.
local app = require "sampan"
local db, time = app.db, app.time
local SLOW = { slow = true }

db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE)")
app.use("/limited", app.rate_limit{ limit = 2, per = 3600 })
app.use("/wrapped", function(req, next)
  local res = next(req)
  res.headers["x-wrapped"] = tostring(app.worker.index)
  return res
end)

local function lane() return app.worker.index > app.worker.count and "slow" or "quick" end
local function count() return db.one("SELECT count(*) AS n FROM notes").n end
local function add(text) db.exec("INSERT INTO notes (text) VALUES (?)", { text }) end

app.get("/quick", function() return { lane = lane(), notes = count() } end)
app.get("/never", { slow = false }, function() return lane() end)
app.get("/fixed", SLOW, { value = 1 })
app.post("/write/:text", SLOW, function(req)
  add(req.params.text)
  return { lane = lane(), notes = count(), body = req:text(), q = req.query.q }
end)
app.get("/wait", SLOW, function()
  time.sleep(0.01)
  return lane()
end)
app.post("/transaction/:end", SLOW, function(req)
  return db.transaction(function(tx)
    tx:exec("INSERT INTO notes (text) VALUES (?)", { "in " .. req.params["end"] })
    time.sleep(0.01)
    if req.params["end"] == "fail" then error{ status = 409, message = "rolled back" } end
    return { lane = lane() }
  end)
end)
app.post("/login", SLOW, function(req)
  req.session.user = "ann"
  return app.json({ lane = lane() }, { headers = { ["set-cookie"] = { "a=1", "b=2" } } })
end)
app.get("/me", SLOW, function(req) return { lane = lane(), user = req.session.user } end)
app.get("/me/quick", function(req) return { lane = lane(), user = req.session.user } end)
app.get("/limited", SLOW, lane)
app.get("/wrapped", SLOW, lane)
app.get("/error", SLOW, function() error("it fails in the lane") end)
app.get("/refused", SLOW, function() error{ status = 418, message = "a teapot" } end)
app.get("/ip", SLOW, function(req) return { ip = req.ip, id = req.headers["x-request-id"], host = req.headers.host } end)
app.all("/method", SLOW, function(req) return app.text(req.method .. " " .. lane(), { status = 201 }) end)
app.get("/big", SLOW, function() return ("x"):rep(300000) end)
app.get("/at/*rest", SLOW, function(req) return { rest = req.params.rest, lane = lane() } end)
app.get("/nothing", SLOW, function() end)
