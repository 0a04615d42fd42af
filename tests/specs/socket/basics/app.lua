local app = require "sampan"

app.use("/private/*", function(req, next)
  if req.query.key ~= "yes" then return app.text("no key", 401) end
  return next()
end)

app.group("/private", function(group)
  group.ws("/:room", {
    message = function(ws, message) ws:send(ws.req.params.room .. ": " .. message) end,
  })
end)

app.ws("/echo", {
  open = function(ws) ws:send("hello") end,
  message = function(ws, message, is_text)
    if is_text then ws:send(message) else ws:send_bytes(message) end
  end,
  close = function(ws, code, reason) app.log.info("closed " .. code .. " " .. reason .. " " .. ws:send("late")) end,
})

app.ws("/tools", {
  protocols = { "chat.v2", "chat.v1" },
  message = function(ws, message)
    if message == "json" then
      ws:send_json({ list = { 1, 2 } })
    elseif message == "ping" then
      ws:ping("are you there")
    elseif message == "close" then
      ws:send("bye")
      ws:close(4001, "done")
      ws:send("never")
    elseif message == "bytes" then
      ws:send_bytes("ab")
    end
  end,
})
