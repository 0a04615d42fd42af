local app = require "sampan"
local files = app.files

app.post("/copy", { stream = true, body_bytes_max = "10 MB" }, function(req)
  local writer = files.create("in/copy")
  for chunk in req:chunks() do writer:write(chunk) end
  local before = files.exists("in/copy")
  writer:close()
  return { before = before, size = files.stat("in/copy").size }
end)
app.get("/send", function()
  local stream = files.open("in/copy")
  return app.stream(function(write)
    local piece = stream:read()
    while piece do
      write(piece)
      piece = stream:read()
    end
  end)
end)
app.get("/unfinished", function()
  local writer = files.create("in/never")
  writer:write("x")
  return "left"
end)
app.get("/never", function() return { exists = files.exists("in/never"), all = files.list("in") } end)
app.get("/closed", function()
  local stream = files.open("in/copy")
  stream:close()
  stream:read()
end)
app.get("/many", function()
  -- One that is read to its end, or whose writer fails, is open no more.
  for _ = 1, 101 do
    local stream = files.open("in/copy")
    while stream:read() do end
    assert(stream:read() == nil)
    local writer = files.create("in")
    pcall(writer.close, writer)
  end
  local open = {}
  for i = 1, 99 do open[i] = files.open("in/copy") end
  local writer = files.create("in/other")
  local ok, fault = pcall(files.open, "in/copy")
  local created, lines = pcall(files.create, "in/new"), pcall(files.lines, "in/copy", function() end)
  open[1]:close()
  open[1]:close()
  local again = pcall(files.open, "in/copy")
  local full = pcall(files.open, "in/copy")
  writer:close()
  files.remove("in/other")
  local last = pcall(files.create, "in/new")
  return { ok = ok, fault = tostring(fault), created = created, lines = lines, again = again, full = full, last = last }
end)
local kept
app.get("/keep", function() kept = files.open("in/copy") return "kept" end)
app.get("/kept", function() return kept:read() end)
