local app = require "sampan"
local db = app.db

db.exec("create table if not exists items (name text unique not null)")

app.ws("/rooms/:room", {
  open = function(ws)
    ws:subscribe("room:" .. ws.req.params.room)
    -- Once more changes nothing.
    ws:subscribe("room:" .. ws.req.params.room)
    ws:send("ready")
  end,
  message = function(ws, text)
    local topic = "room:" .. ws.req.params.room
    if text == "json" then
      app.publish(topic, { a = 1 })
    elseif text == "leave" then
      ws:send(tostring(ws:unsubscribe(topic)))
      ws:send(tostring(ws:unsubscribe(topic)))
    elseif text == "store" then
      db.exec("insert into items (name) values ('a')")
      app.publish(topic, "stored")
    elseif text == "name" then
      ws:subscribe("")
    elseif text == "many" then
      for i = 1, 1001 do ws:subscribe("topic:" .. i) end
    else
      app.publish(topic, text)
    end
  end,
})
