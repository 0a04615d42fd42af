local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS ticks (name TEXT NOT NULL)") end)
local function tick(name) db.exec("INSERT INTO ticks (name) VALUES (?)", { name }) end

app.every(0.001, function() tick("quick") end)
app.every(0.002, function()
  tick("begun")
  app.time.sleep(0.005)
  tick("ended")
end)
app.every(0.003, function() error("it cannot tick") end)
app.every(2592000, function() tick("never") end)

app.get("/enough/:name", function(req)
  local row = db.one("SELECT count(*) AS n FROM ticks WHERE name = ?", { req.params.name })
  return row.n >= 3 and "enough" or "too few"
end)
app.get("/at-once", function()
  -- A run begins only after the one before has ended.
  local row = db.one("SELECT sum(CASE name WHEN 'begun' THEN 1 WHEN 'ended' THEN -1 ELSE 0 END) AS n FROM ticks")
  return row.n <= 1
end)
app.get("/wrong/:what", function(req)
  local calls = {
    late = function() app.every(1, function() end) end,
    text = function() app.every("1", function() end) end,
    nothing = function() app.every(1) end,
  }
  local _, err = pcall(calls[req.params.what])
  return tostring(err)
end)
local refused = {}
for name, seconds in pairs({ zero = 0, negative = -1, nan = 0 / 0, long = 2592001, infinite = math.huge }) do
  local _, err = pcall(app.every, seconds, function() end)
  refused[name] = tostring(err)
end
app.get("/refused/:name", function(req) return refused[req.params.name] end)
