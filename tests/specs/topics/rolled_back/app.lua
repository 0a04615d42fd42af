local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, message TEXT)")
end)

app.subscribe("notes", function(message)
  db.exec("INSERT INTO seen (message) VALUES (?)", { message })
end)

local function note(text)
  db.exec("INSERT INTO notes VALUES (?)", { text })
  app.publish("notes", text)
end

app.post("/batch", function()
  note("before")
  pcall(db.batch, function()
    note("rolled back")
    db.batch(function() note("nested") end)
    error("no")
  end)
  db.batch(function()
    note("kept")
    pcall(db.batch, function() note("inner") error("no") end)
  end)
  note("after")
end)

app.post("/transaction", function()
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes VALUES ('tx')")
    app.publish("notes", "committed")
  end)
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes VALUES ('tx')")
    app.publish("notes", "never")
    error("no")
  end)
  app.publish("notes", "end")
end)

app.post("/throws", function()
  app.publish("notes", "left at once")
  error("no")
end)

app.get("/seen", function()
  return db.one("SELECT group_concat(message, ', ') AS all_of FROM (SELECT message FROM seen ORDER BY id)")
end)
