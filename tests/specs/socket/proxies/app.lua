local app = require "sampan"

app.ws("/same", { message = function(ws, message) ws:send(message) end })
