local app = require "sampan"

local function count(req)
  local bytes = 0
  for chunk in req:chunks() do
    assert(#chunk > 0)
    bytes = bytes + #chunk
  end
  return { bytes = bytes }
end

local large = { stream = true, body_bytes_max = "1 MB" }
app.post("/count", large, count)
app.post("/small", { stream = true, body_bytes_max = 10 }, count)
app.post("/general", { stream = true }, count)
app.post("/ordinary", count)
app.post("/text", large, function(req) return req:text() end)
app.post("/json", large, function(req) return req:json() end)
app.post("/form", large, function(req) return req:form() end)
app.post("/bytes", large, function(req) return { bytes = #req:bytes() } end)
app.post("/echo", large, function(req)
  return app.stream(function(write)
    for chunk in req:chunks() do write(chunk) end
  end)
end)
app.post("/early", large, function(req)
  return app.stream(function(write)
    write("begun;")
    write(tostring(count(req).bytes))
  end)
end)
app.post("/unread", large, function() return "not read" end)
app.post("/first", large, function(req)
  for chunk in req:chunks() do return { first = #chunk > 0 } end
  return { first = false }
end)
app.post("/waits", large, function(req)
  local bytes = 0
  for chunk in req:chunks() do
    app.time.sleep(0.002)
    bytes = bytes + #chunk
  end
  return { bytes = bytes }
end)
app.get("/none", { stream = true }, count)
