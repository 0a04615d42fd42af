local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS faults (name TEXT NOT NULL)") end)
local function has(name) return db.one("SELECT 1 AS one FROM faults WHERE name = ?", { name }) ~= nil end

app.health("stock", function()
  if has("empty") then error("nothing is left", 0) end
end)
app.health("payments", function()
  time.sleep(has("slow") and 60 or 0.001)
  return 0 -- Only false counts.
end)

app.post("/faults/:name", function(req)
  db.exec("INSERT INTO faults (name) VALUES (?)", { req.params.name })
end)
app.delete("/faults", function() db.exec("DELETE FROM faults") end)
app.get("/late", function()
  local _, err = pcall(app.health, "late", function() end)
  return tostring(err)
end)
