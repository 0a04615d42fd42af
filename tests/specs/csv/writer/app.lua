local app = require "sampan"
local csv = app.csv
local kept

app.get("/stream", function()
  local out = csv.writer()
  return app.stream(function(write)
    for i = 1, 3 do
      out:add { id = i, name = "n" .. i }
      if i > 1 then write(out:take()) end
      app.time.sleep(0.001)
    end
    write(out:take() .. "end")
  end)
end)
app.get("/fault", function()
  local out = csv.writer()
  local first = pcall(out.add, out, { a = {} })
  out:add { b = 1 }
  local second = pcall(out.add, out, { b = {} })
  out:add { b = 2 }
  return { first = first, second = second, text = out:take(), again = out:take() }
end)
-- No metamethod is called: nothing takes the header.
app.get("/inside", function()
  local out = csv.writer { columns = { "a" } }
  local function take() return out:take() end
  out:add(setmetatable({}, { __index = take, __pairs = take, __len = take }))
  out:add { a = 1 }
  return out:take()
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
  local out, line = csv.writer(), { ("x"):rep(1000000) }
  local ok, err, rows = true, nil, 0
  while ok do
    ok, err = pcall(out.add, out, line)
    rows = rows + 1
  end
  return rows .. " " .. tostring(err)
end)
app.get("/many", function()
  for i = 1, 20000 do csv.writer():add { i } end
  return "many"
end)
app.get("/wrong", function() return csv.writer():add() end)
app.get("/leaves", function()
  local out = csv.writer()
  return app.stream(function(write)
    kept = out
    while true do
      out:add { 1 }
      write(out:take())
      app.time.sleep(0.005)
    end
  end)
end)
app.on_error(function(_, err) return { error = err.message } end)
