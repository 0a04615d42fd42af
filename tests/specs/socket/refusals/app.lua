local app = require "sampan"

app.ws("/same", { message = function(ws, message) ws:send(message) end })
app.ws("/listed", { origins = { "https://a.example" }, message = function(ws, message) ws:send(message) end })
app.ws("/all", { origins = "*", message = function(ws, message) ws:send(message) end })
