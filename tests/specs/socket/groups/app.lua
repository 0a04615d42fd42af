local app = require "sampan"
local db = app.db

db.exec("create table if not exists items (id integer primary key, name text unique not null)")

app.ws("/", {
  message = function(ws, message)
    if message == "count" then
      ws:send(tostring(db.one("select count(*) as n from items").n))
      return
    end
    db.exec("insert into items (name) values (?)", { message })
    ws:send(ws:send("stored " .. message))
  end,
})
