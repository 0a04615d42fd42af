local app = require "sampan"
local db = app.db
local seen = {}

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS starts (name TEXT)")
  app.time.sleep(0.001)
  db.exec("INSERT INTO starts VALUES ('each')")
  seen[#seen + 1] = "each"
end)
app.on_start(function()
  db.exec("INSERT INTO starts VALUES ('once')")
  seen[#seen + 1] = "once"
end, { once = true })
app.on_stop(function() app.log.info("on_stop ran") end)

app.get("/", function()
  return { seen = seen, rows = db.query("SELECT name FROM starts ORDER BY name") }
end)
app.get("/late", function() app.on_start(function() end) end)
app.get("/wrong", function(req)
  local calls = {
    number = function() app.on_start(1) end,
    options = function() app.on_start(function() end, { twice = true }) end,
  }
  local ok, err = pcall(calls[req.query.what])
  return tostring(err)
end)
