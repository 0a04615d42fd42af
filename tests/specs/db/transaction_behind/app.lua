-- A write right behind a transaction of the same run, while another transaction waits for its turn.
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS seen (name TEXT, place TEXT)") end)

local ADD = "INSERT INTO seen (name, place) VALUES (?, ?)"
local OK = { ok = true }

local function both(name)
  db.transaction(function(tx)
    tx:exec(ADD, { name, "inside" })
    time.sleep(0.4)
  end)
  db.exec(ADD, { name, "behind" })
end

app.get("/seen/:name", function(req)
  local places = {}
  for _, row in ipairs(db.query("SELECT place FROM seen WHERE name = ? ORDER BY place", { req.params.name })) do
    places[#places + 1] = row.place
  end
  return places
end)
app.get("/hold", function()
  return db.transaction(function(tx)
    tx:exec(ADD, { "hold", "inside" })
    time.sleep(0.4)
    return OK
  end)
end)
app.get("/both/:name", function(req)
  both(req.params.name)
  return OK
end)
app.job("both", { attempts = 1 }, both)
app.get("/enqueue/:name", function(req)
  app.enqueue("both", req.params.name)
  return OK
end)
