local app = require "sampan"

local open
app.subscribe("room", function(member, about)
  if open and about.event == "leave" then open:close() end
end, { presence = true })

app.sse("/room", function(req, events)
  open = events
  events:subscribe("room", { presence = true })
  events:join("room", { name = "Ann" })
  local members = app.presence("room")
  events:send(#members .. " " .. members[1].data.name)
  -- The stream is closed once the function above hears of it.
  local was_there, again = events:leave("room"), events:leave("room")
  events:send(tostring(was_there) .. " " .. tostring(again) .. " " .. #app.presence("room"))
end)
