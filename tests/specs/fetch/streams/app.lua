local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

-- What is asked. It waits for its reader in the middle.
local is_read = false
app.get("/up/pieces", function()
  return app.stream(function(write)
    write("one ")
    while not is_read do app.time.sleep(0.005) end
    write("two")
  end)
end)
app.get("/up/fails", function()
  return app.stream(function(write)
    write("one")
    app.time.sleep(0.01)
    error("no more")
  end)
end)
app.get("/up/large", function()
  return app.stream(function(write)
    local piece = ("x"):rep(65536)
    for _ = 1, 64 do write(piece) end
  end)
end)
app.post("/up/count", { stream = true }, function(req)
  local bytes, pieces = 0, 0
  for chunk in req:chunks() do bytes, pieces = bytes + #chunk, pieces + 1 end
  return { bytes = bytes, is_many = pieces > 1, type = req.headers["content-type"] }
end)

app.get("/pieces", function(req)
  is_read = false
  local res = app.fetch(up(req, "pieces"), { stream = true })
  local pieces = {}
  for chunk in res:chunks() do
    pieces[#pieces + 1] = chunk
    is_read = true
  end
  return table.concat(pieces)
end)
app.get("/text", function(req)
  is_read = true
  return app.fetch(up(req, "pieces"), { stream = true }):text()
end)
app.get("/pass/:what", function(req)
  is_read = true
  return app.fetch(up(req, req.params.what), { stream = true })
end)
app.get("/large", function(req)
  local bytes = 0
  for chunk in app.fetch(up(req, "large"), { stream = true }):chunks() do bytes = bytes + #chunk end
  return { whole = #app.fetch(up(req, "large")).body, bytes = bytes }
end)
app.get("/twice", function(req)
  is_read = true
  local res = app.fetch(up(req, "pieces"), { stream = true })
  res:text()
  local ok, err = pcall(res.text, res)
  return tostring(err.message or err)
end)
app.get("/fails", function(req)
  local res = app.fetch(up(req, "fails"), { stream = true })
  local ok, err = pcall(res.text, res)
  return { ok = ok, code = err.code }
end)

app.get("/upload", function(req)
  local res = app.fetch(up(req, "count"), {
    headers = { ["content-type"] = "text/x" },
    body = function(write)
      for _ = 1, 40 do
        write(("y"):rep(25000))
        app.time.sleep(0)
      end
    end,
  })
  return res:json()
end)
app.post("/through", { stream = true }, function(req)
  return app.fetch(up(req, "count"), { body = req:chunks(), headers = { ["content-type"] = "text/x" } })
end)
app.get("/from-answer", function(req)
  local res = app.fetch(up(req, "large"), { stream = true })
  return app.fetch(up(req, "count"), { body = res:chunks(), headers = { ["content-type"] = "text/x" } })
end)
app.get("/upload-fails", function(req)
  local ok, err = pcall(app.fetch, up(req, "count"), {
    body = function(write)
      write("one")
      error("no body today")
    end,
  })
  return tostring(err):match("no body today") or tostring(err)
end)
