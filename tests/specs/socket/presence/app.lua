local app = require "sampan"

app.subscribe("room:p", function(member, about)
  local text = type(member) == "table" and about.event .. " " .. member.data.name or "message " .. member
  app.publish("told", text)
end, { presence = true, once = true })

app.ws("/rooms/:room", {
  open = function(ws)
    ws:subscribe("told")
    ws:send("ready")
  end,
  message = function(ws, text)
    local verb, name = text:match("^(%S+) ?(.*)$")
    if verb == "join" then
      ws:join("room:p", { name = name })
    elseif verb == "leave" then
      ws:send(tostring(ws:leave("room:p")))
    elseif verb == "who" then
      local names = {}
      for _, member in ipairs(app.presence("room:p")) do names[#names + 1] = member.data.name end
      ws:send("here: " .. table.concat(names, " "))
    else
      app.publish("room:p", text)
    end
  end,
})
