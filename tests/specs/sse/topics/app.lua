local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE notes (text TEXT NOT NULL UNIQUE)")
end)

-- The streams that end with the next message of their topic.
local open = {}
for _, topic in ipairs { "news", "rolled back", "waited" } do
  app.subscribe(topic, function()
    local events = open[topic]
    if events then events:close() end
  end)
end

app.sse("/news", function(req, events)
  open["news"] = events
  events:subscribe("news", { event = "note" })
  events:subscribe("plain")
  events:subscribe("gone")
  local was_there, again = events:unsubscribe("gone"), events:unsubscribe("gone")
  events:send(tostring(was_there) .. " " .. tostring(again))
  app.publish("gone", "not seen")
  app.publish("plain", { a = 1 })
  app.publish("plain", "\255\254")
  app.publish("news", "hello\nyou")
end)

app.sse("/written", function(req, events)
  db.exec("INSERT INTO notes (text) VALUES ('first')")
  events:send("written")
end)

app.sse("/rolled-back", function(req, events)
  pcall(db.batch, function()
    db.exec("INSERT INTO notes (text) VALUES ('second')")
    events:send("not there")
    db.exec("INSERT INTO notes (text) VALUES ('first')")
  end)
  events:send("after")
end)

app.sse("/transaction", function(req, events)
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes (text) VALUES ('third')")
    events:send("not there")
    error("no")
  end)
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes (text) VALUES ('third')")
    events:send("there")
  end)
end)

local ended = "no"
app.sse("/waits", function(req, events)
  open["waited"] = events
  app.publish("waited", "now")
  events:wait()
  app.time.sleep(0.001)
  ended = "yes"
end)
app.get("/ended", function() return ended end)
