local app = require "sampan"

app.post("/login", function(req) req.session.user = "ann" end)
app.ws("/session", {
  message = function(ws, message)
    if message == "set" then
      local _, err = pcall(function() ws.req.session.seen = 1 end)
      ws:send(tostring(err):match("a socket cannot [^,]*"))
    else
      ws:send(tostring(ws.req.session.user))
    end
  end,
})
