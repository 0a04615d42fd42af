local app = require "sampan"
local db, sleep = app.db, app.time.sleep

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)") end)
local function note(text) db.exec("INSERT INTO notes (text) VALUES (?)", { text }) end
app.get("/notes", function()
  local texts = app.json.array {}
  for at, row in ipairs(db.query("SELECT text FROM notes ORDER BY text")) do texts[at] = row.text end
  db.exec("DELETE FROM notes")
  return texts
end)

app.get("/results", function()
  local a, b, c = app.gather(
    function() sleep(0.02) return "a" end,
    function() sleep(0.01) return "b" end,
    function() return "c" end)
  return { a, b, c }
end)
app.get("/each-other", function()
  local turn, order = 1, {}
  local function player(own, other)
    return function()
      for _ = 1, 3 do
        while turn ~= own do sleep(0.001) end
        order[#order + 1], turn = own, other
      end
    end
  end
  app.gather(player(1, 2), player(2, 1))
  return order
end)
app.get("/writes", function()
  local function writer(text)
    return function()
      note(text .. " 1")
      sleep(0.005)
      db.batch(function() note(text .. " 2") end)
      return text
    end
  end
  local one, two, three = app.gather(writer "a", writer "b", function()
    return app.gather(writer "c", writer "d")
  end)
  return { one, two, three }
end)
app.get("/fails", function()
  local ok, err = pcall(app.gather,
    function()
      local ok, err = pcall(sleep, 0.25)
      note(ok and "slept" or err.code)
    end,
    function() sleep(0.005) error("the first", 0) end)
  return { err = err }
end)
app.get("/uncaught", function()
  app.gather(function() sleep(0.001) end, function() error({ status = 409, message = "it is taken" }) end)
end)
app.get("/transaction", function()
  local ok, err = pcall(app.gather,
    function() db.transaction(function(tx) tx:exec("INSERT INTO notes VALUES ('inside')") sleep(0.05) end) end,
    function() sleep(0.01) note("beside") end)
  return tostring(type(err) == "table" and err.message or err)
end)
app.get("/leaves", function()
  local function waiter(name)
    return function()
      local ok, err = pcall(sleep, 60)
      note(name .. " " .. err.code)
      error(err)
    end
  end
  app.gather(waiter "a", waiter "b")
end)
