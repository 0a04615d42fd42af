local app = require "sampan"

app.ws("/", {
  idle_millis_max = 1000,
  ping_millis = 0,
  message = function(ws, message)
    if message == "slow" then app.time.sleep(1.5) end
    ws:send(message)
  end,
})
