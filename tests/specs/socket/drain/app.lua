local app = require "sampan"
local db = app.db

app.ws("/", {
  message = function(ws, message)
    if message == "write" then db.exec("create table items (name text not null)") end
    ws.data.fate = ws:send("done")
  end,
  drain = function(ws)
    local fate = ws.data.fate
    ws.data.fate = nil
    if fate then ws:send("read what was " .. fate) end
  end,
})
