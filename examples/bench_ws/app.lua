-- What `cargo xtask bench ws` measures: an echo, and messages to all.
local app = require "sampan"

app.get("/version", { version = "1.0" })

app.ws("/echo", {
  message = function(ws, message) ws:send(message) end,
})

app.ws("/publish", {
  open = function(ws)
    ws:subscribe("all")
    ws:send("subscribed")
  end,
  message = function(ws, message) app.publish("all", message) end,
})
