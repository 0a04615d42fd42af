local app = require "sampan"
local csv = app.csv
local kept

local _, early = pcall(csv.writer)

app.get("/early", function() return tostring(early) end)
app.get("/stream", function()
  local writer = csv.writer()
  return app.stream(function(write)
    for i = 1, 3 do
      writer:add { id = i, name = "n" .. i }
      if i > 1 then write(writer:take()) end
      app.time.sleep(0.001)
    end
    write(writer:take() .. "end")
  end)
end)
app.get("/fault", function()
  local writer = csv.writer()
  local first = pcall(writer.add, writer, { a = {} })
  writer:add { b = 1 }
  local second = pcall(writer.add, writer, { b = {} })
  writer:add { b = 2 }
  return { first = first, second = second, text = writer:take(), again = writer:take() }
end)
-- No metamethod is called: nothing takes the header.
app.get("/inside", function()
  local writer = csv.writer { columns = { "a" } }
  local function take() return writer:take() end
  writer:add(setmetatable({}, { __index = take, __pairs = take, __len = take }))
  writer:add { a = 1 }
  return writer:take()
end)
app.get("/keep", function()
  kept = csv.writer()
  kept:add { 1 }
  return "kept"
end)
app.get("/after", function()
  local ok, err = pcall(kept.add, kept, { 1 })
  return tostring(ok) .. " " .. tostring(err)
end)
app.get("/full", function()
  local writer, line = csv.writer(), { ("x"):rep(1000000) }
  local ok, err, rows = true, nil, 0
  while ok do
    ok, err = pcall(writer.add, writer, line)
    rows = rows + 1
  end
  return rows .. " " .. tostring(err)
end)
app.get("/all", function()
  local kept, line = {}, { ("x"):rep(900000) }
  for i = 1, 1000 do
    kept[i] = csv.writer()
    kept[i]:add(line)
  end
end)
app.get("/many", function()
  for i = 1, 20000 do csv.writer():add { i } end
  return "many"
end)
app.get("/wrong", function() return csv.writer():add() end)
app.get("/leaves", function()
  local writer = csv.writer()
  return app.stream(function(write)
    kept = writer
    while true do
      writer:add { 1 }
      write(writer:take())
      app.time.sleep(0.005)
    end
  end)
end)
app.on_error(function(_, err) return { error = err.message } end)
