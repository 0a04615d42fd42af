-- The server of `cargo xtask conformance`.
local app = require "sampan"

app.use(app.secure_headers())
app.get("/", function() return "hello" end)
app.post("/", function(req) return req:text() end)

app.ws("/ws", {
  compress = true,
  message_bytes_max = "32MB",
  backpressure_bytes_max = "256MB",
  message = function(ws, message, is_text)
    if is_text then ws:send(message) else ws:send_bytes(message) end
  end,
})
