local app = require "sampan"

app.get("/count", function()
  return app.stream(function(write)
    for i = 1, 5 do write("line " .. i .. "\n") end
  end, { headers = { ["Content-Type"] = "text/plain" } })
end)
app.get("/slow", function()
  return app.stream(function(write)
    for i = 1, 3 do
      write(i .. ";")
      app.time.sleep(0.02)
    end
  end, 201)
end)
app.get("/large", function()
  return app.stream(function(write)
    local piece = ("x"):rep(10000)
    for _ = 1, 200 do write(piece) end
  end)
end)
app.get("/broken", function()
  return app.stream(function(write)
    write("half")
    app.time.sleep(0.01)
    error("stream broke")
  end)
end)
app.get("/empty", function() return app.stream(function() end) end)
