local app = require "sampan"

app.ws("/", {
  message = function(ws, message)
    if message == "slow" then app.time.sleep(0.05) end
    ws:send(message)
  end,
})
