local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")
db.exec("CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)")
db.exec([[CREATE TABLE IF NOT EXISTS child (
  parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)]])

local ADD = "INSERT INTO t (name) VALUES (?)"
local TABLES = db.dialect() == "sqlite" and "sqlite_schema" or "(SELECT relname AS name FROM pg_class) AS tables"
local function told(ok, err)
  if ok then return { ok = true } end
  return { ok = false, code = type(err) == "table" and err.code or nil, message = tostring(type(err) == "table" and err.message or err) }
end
local function count() return db.one("SELECT count(*) AS n FROM t").n end

app.get("/names", function()
  local names = app.json.array {}
  for i, row in ipairs(db.query("SELECT name FROM t ORDER BY name")) do names[i] = row.name end
  return names
end)
app.get("/keep", function()
  return db.transaction(function(tx)
    local done = tx:exec(ADD, { "a" })
    time.sleep(0.01)
    local row = tx:one("INSERT INTO t (name) VALUES ('b') RETURNING name")
    return { changes = done.changes, name = row.name, inside = #tx:query("SELECT * FROM t"), outside = count() }
  end)
end)
app.get("/throw", function()
  db.transaction(function(tx) tx:exec(ADD, { "c" }) time.sleep(0.001) error("no more") end)
end)
app.get("/caught", function()
  local ok, err = pcall(db.transaction, function(tx) tx:exec(ADD, { "d" }) error({ code = 7 }) end)
  return { ok = ok, code = err.code }
end)
app.get("/batch", function()
  return db.transaction(function(tx)
    tx:exec(ADD, { "e" })
    local ok = pcall(tx.batch, tx, function(inner) inner:exec(ADD, { "f" }) inner:exec(ADD, { "e" }) end)
    local kept = tx:batch(function() tx:exec(ADD, { "g" }) return "kept" end)
    return { ok = ok, kept = kept }
  end)
end)
app.get("/batch-waits", function()
  return db.transaction(function(tx)
    return told(pcall(tx.batch, tx, function() time.sleep(0.01) end))
  end)
end)
app.get("/unique", function()
  return told(pcall(db.transaction, function(tx) tx:exec(ADD, { "h" }) tx:exec(ADD, { "a" }) end))
end)
app.get("/goes-on", function()
  local failed, behind
  local left = told(pcall(db.transaction, function(tx)
    failed = told(pcall(tx.exec, tx, ADD, { "a" }))
    behind = told(pcall(tx.exec, tx, ADD, { "i" }))
  end))
  return { failed = failed.code, behind = behind.code or app.null, left = left.code or app.null }
end)
app.get("/goes-on-behind-a-batch", function()
  return db.transaction(function(tx)
    local failed = told(pcall(tx.batch, tx, function() tx:exec(ADD, { "a" }) end))
    tx:exec(ADD, { "s" })
    return { failed = failed.code }
  end)
end)
app.get("/undone", function()
  local last
  local left = told(pcall(db.transaction, function(tx)
    tx:exec(ADD, { "j" })
    pcall(tx.exec, tx, "INSERT OR ROLLBACK INTO t (name) VALUES ('a')")
    last = told(pcall(tx.exec, tx, ADD, { "k" }))
  end))
  return { left = left, last = last }
end)
app.get("/deferred", function()
  return told(pcall(db.transaction, function(tx) tx:exec("INSERT INTO child (parent) VALUES (7)") end))
end)
app.get("/deferred-kept", function()
  return db.transaction(function(tx)
    tx:exec("INSERT INTO child (parent) VALUES (8)")
    time.sleep(0.001)
    tx:exec("INSERT INTO parent (id) VALUES (8)")
    return { ok = true }
  end)
end)
app.get("/plain-inside", function()
  return db.transaction(function(tx)
    tx:exec(ADD, { "l" })
    return told(pcall(db.exec, ADD, { "m" }))
  end)
end)
app.get("/batch-inside", function()
  return db.transaction(function() return told(pcall(db.batch, function() end)) end)
end)
app.get("/two", function()
  return db.transaction(function() return told(pcall(db.transaction, function() end)) end)
end)
app.get("/one-after-the-other", function()
  for _, name in ipairs { "n", "o" } do
    db.transaction(function(tx) tx:exec(ADD, { name }) end)
  end
  db.exec(ADD, { "p" })
  return { ok = true }
end)
app.get("/plain-before", function()
  db.exec(ADD, { "q" })
  return db.transaction(function(tx) tx:exec(ADD, { "r" }) return { seen = #tx:query("SELECT * FROM t WHERE name = 'q'") } end)
end)
app.get("/in-a-batch", function()
  return told(pcall(db.batch, function() db.transaction(function() end) end))
end)
app.get("/no-function", function() return told(pcall(db.transaction, "x")) end)
app.get("/wrong-argument", function()
  return db.transaction(function(tx) return told(pcall(tx.exec, tx, 7)) end)
end)
app.get("/control", function()
  return db.transaction(function(tx) return told(pcall(tx.exec, tx, "COMMIT")) end)
end)
app.get("/schema", function()
  pcall(db.transaction, function(tx) tx:exec("CREATE TABLE gone (x INTEGER)") error("no more") end)
  db.transaction(function(tx) tx:exec("CREATE TABLE made (x INTEGER)") tx:exec("INSERT INTO made VALUES (1)") end)
  return db.query("SELECT name FROM " .. TABLES .. " WHERE name IN ('gone', 'made')")
end)
