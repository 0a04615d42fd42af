-- Streams whose function begins with a transaction.
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS streamed (name TEXT)") end)

local function add(tx, name) tx:exec("INSERT INTO streamed (name) VALUES (?)", { name }) end

app.get("/first", function()
  return app.stream(function(write)
    db.transaction(function(tx) add(tx, "first") end)
    write("done")
  end)
end)
app.get("/waits", function()
  return app.stream(function(write)
    db.transaction(function(tx)
      add(tx, "waits")
      time.sleep(0.002)
    end)
    db.transaction(function(tx) add(tx, "again") end)
    write("done")
  end)
end)
app.get("/caught", function()
  return app.stream(function(write)
    local ok, err = pcall(db.transaction, function(tx)
      add(tx, "lost")
      error("no", 0)
    end)
    if not ok then write(type(err) == "table" and err.message or err) end
  end)
end)
app.get("/nothing", function()
  return app.stream(function()
    db.transaction(function(tx) add(tx, "nothing") end)
  end)
end)
app.get("/names", function()
  local names = {}
  for _, row in ipairs(db.query("SELECT name FROM streamed ORDER BY name")) do names[#names + 1] = row.name end
  return names
end)
