local app = require "sampan"
local ended

app.ws("/", {
  backpressure_bytes_max = "64 MB",
  message = function(ws, message)
    if message == "flood" then
      local large = ("x"):rep(4000000)
      for _ = 1, 8 do ws:send(large) end
    else
      while not ended do app.time.sleep(0.05) end
      ws:send("ended with " .. ended)
    end
  end,
  close = function(_, code) ended = ended or code end,
})
