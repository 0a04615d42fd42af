local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local function add(name) db.exec("INSERT INTO t (name) VALUES (?)", { name }) end

app.get("/names", function()
  local names = app.json.array {}
  for i, row in ipairs(db.query("SELECT name FROM t ORDER BY name")) do names[i] = row.name end
  return names
end)
app.get("/keep", function()
  return { result = db.batch(function() add "a" add "b" return "done" end) }
end)
app.get("/throw", function()
  db.batch(function() add "c" error("no more") end)
end)
app.get("/caught", function()
  local ok, err = pcall(db.batch, function() add "d" error({ code = 7 }) end)
  return { ok = ok, code = err.code }
end)
app.get("/nested", function()
  db.batch(function()
    add "e"
    pcall(db.batch, function() add "f" error("no more") end)
    db.batch(function() add "g" end)
  end)
  return { ok = true }
end)
app.get("/statement-inside", function()
  local ok, err = pcall(db.batch, function()
    add "m"
    pcall(db.batch, function() add "n" add "a" end)
    add "o"
  end)
  return { ok = ok, message = not ok and err.message or nil }
end)
app.get("/wait", function()
  add "before"
  local ok, err = pcall(db.batch, function() add "h" app.time.sleep(0.01) end)
  add "behind"
  return { ok = ok, message = tostring(type(err) == "table" and err.message or err) }
end)
app.get("/wait-inside", function()
  return db.batch(function()
    local ok, err = pcall(db.batch, function() add "h" app.time.sleep(0.01) end)
    add "around"
    return { ok = ok, message = tostring(type(err) == "table" and err.message or err) }
  end)
end)
app.get("/transaction-inside", function()
  local ok, err = pcall(db.batch, function()
    add "around-transaction"
    db.transaction(function(tx) tx:exec("INSERT INTO t (name) VALUES ('apart')") end)
  end)
  return { ok = ok, message = tostring(err) }
end)
app.get("/transaction-behind", function()
  db.batch(function() end)
  db.transaction(function(tx)
    tx:batch(function() tx:exec("INSERT INTO t (name) VALUES ('k2')") end)
  end)
  return { ok = true }
end)
app.get("/endless", function()
  db.batch(function() add "i" while true do end end)
end)
app.get("/after-a-wait", function()
  app.time.sleep(0.001)
  db.batch(function() add "j" end)
  return { n = db.one("SELECT count(*) AS n FROM t WHERE name = 'j'").n }
end)
app.get("/read-inside", function()
  return db.batch(function()
    local ok, row = pcall(db.one, "SELECT count(*) AS n FROM t WHERE name = 'a'")
    return { ok = ok, n = ok and row.n or nil, message = not ok and row.message or nil }
  end)
end)
app.get("/exec-inside", function()
  return db.batch(function()
    local done = db.exec("INSERT INTO t (name) VALUES ('p')")
    return { given = type(done) }
  end)
end)
app.get("/argument", function()
  local ok, err = pcall(db.batch, "x")
  return { ok = ok, message = tostring(type(err) == "table" and err.message or err) }
end)
app.get("/mixed", function()
  add "k"
  local ok, err = pcall(db.batch, function() add "l" error("no more") end)
  return { ok = true, message = tostring(err) }
end)
