local app = require "sampan"

app.ws("/w", { message = function(ws, text) ws:send(text) end }, 3)
