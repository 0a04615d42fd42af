local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local ADD = "INSERT INTO t (name) VALUES (?)"

app.get("/names", function()
  local names = app.json.array {}
  for i, row in ipairs(db.query("SELECT name FROM t ORDER BY name")) do names[i] = row.name end
  return names
end)
local holds = 0
local open = 0
app.get("/hold", function()
  holds = holds + 1
  -- On PostgreSQL several are open at once.
  local held = "held " .. holds
  return db.transaction(function(tx)
    tx:exec(ADD, { held })
    open = open + 1
    time.sleep(0.8)
    open = open - 1
    tx:exec("DELETE FROM t WHERE name = ?", { held })
    return { ok = true }
  end)
end)
app.get("/holding", function()
  while open == 0 do time.sleep(0.01) end
end)
app.get("/exec/:name", function(req)
  local ok, err = pcall(db.exec, ADD, { req.params.name })
  return { ok = ok, code = not ok and err.code or nil }
end)
app.get("/exec-after-a-wait/:name", function(req)
  time.sleep(0.05)
  db.exec(ADD, { req.params.name })
  return { ok = true }
end)
app.post("/exec/:name", function(req)
  db.exec(ADD, { req.params.name })
  return { ok = true }
end)
app.get("/query/:name", function(req)
  return db.query(ADD .. " RETURNING name", { req.params.name })
end)
app.get("/batch/:name", function(req)
  return db.batch(function()
    db.exec(ADD, { req.params.name })
    return { ok = true }
  end)
end)
app.get("/sorted", function()
  local list = { 1, 2 }
  local ok, err = pcall(table.sort, list, function() db.exec(ADD, { "sorted" }) return false end)
  return { ok = ok, code = type(err) == "table" and err.code or tostring(err):match("cannot wait here") }
end)
