local app = require "sampan"

app.ws("/", {
  message_bytes_max = 1000,
  message = function(ws, message)
    if message == "leave" then return ws:close(4000, "ours") end
    if message == "throw" then error("as asked") end
    if message == "loop" then while true do end end
    if message == "later" then app.time.sleep(0.01) error("late") end
    ws:send(message)
  end,
  close = function(ws, code) app.log.info("ended with " .. code) end,
})
app.ws("/odd", { upgrade = function() return "yes" end })
app.ws("/opens", { open = function() error("cannot open") end })
