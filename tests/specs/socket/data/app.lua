local app = require "sampan"

app.ws("/:name", {
  upgrade = function(req)
    if req.query.refuse then return app.text("not you", 403) end
    return { name = req.params.name, count = 0 }
  end,
  message = function(ws, message)
    local data = ws.data
    if message == "keys" then
      local keys = {}
      for key in pairs(data) do keys[#keys + 1] = key end
      table.sort(keys)
      ws:send(table.concat(keys, " "))
    elseif message == "replace" then
      ws.data = { other = true }
      ws:send(tostring(ws.data.other) .. " " .. tostring(ws.data.name))
    elseif message == "wrong" then
      local ok, err = pcall(function() ws.colour = "red" end)
      ws:send(tostring(err):match("a WebSocket has no field [^:]*"))
    elseif message == "req" then
      local req = ws.req
      ws:send(req.path .. " " .. req.query.a .. " " .. req.headers["x-b"] .. " " .. req.params.name)
    elseif message == "methods" then
      data:set("key", { 1, 2 })
      ws:send(#data:get("key") .. " " .. #data:keys() .. " " .. table.concat(ws:keys(), " ") .. " " .. ws:get("req").path)
      ws:set("data", { a = 1 })
      data.a = nil
      ws:send(tostring(data.a))
    elseif message == "buffered" then
      ws:send(tostring(ws.buffered) .. " " .. type(ws.id))
    else
      data.count = data.count + 1
      ws:send(data.name .. " " .. data.count)
    end
  end,
})
