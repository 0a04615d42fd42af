local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, kind TEXT, text TEXT, event TEXT, topic TEXT)")
end)

local function kind_of(message)
  return type(message)
end

app.subscribe("news", function(message, about)
  local text = type(message) == "table" and app.json.encode(message) or tostring(message)
  db.exec("INSERT INTO seen (kind, text, event, topic) VALUES (?, ?, ?, ?)",
    { kind_of(message), text, about.event, about.topic })
end)

app.subscribe("waits", function(message)
  app.time.sleep(0.01)
  db.exec("INSERT INTO seen (kind, text) VALUES ('waited', ?)", { message })
end)

app.subscribe("fails", function(message)
  error("cannot take " .. message)
end)

app.post("/text", function() app.publish("news", "hello") end)
app.post("/json", function() app.publish("news", { a = 1, list = app.json.array {} }) end)
app.post("/number", function() app.publish("news", 7) end)
app.post("/many", function()
  for n = 1, 5 do app.publish("waits", "m" .. n) end
  app.publish("nobody is interested", "lost")
end)
app.post("/fails", function() app.publish("fails", "this") end)
app.get("/seen", function() return db.query("SELECT kind, text, event, topic FROM seen ORDER BY id") end)
app.get("/waited", function()
  return db.query("SELECT group_concat(text, ' ') AS texts FROM (SELECT text FROM seen WHERE kind = 'waited' ORDER BY id)")
end)
