local app = require "sampan"
local db, time = app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local ADD = "INSERT INTO t (name) VALUES (?)"
local kept
local function told(ok, err)
  if ok then return { ok = true } end
  return { ok = false, code = type(err) == "table" and err.code or nil, message = tostring(type(err) == "table" and err.message or err) }
end

app.get("/names", function()
  local names = app.json.array {}
  for i, row in ipairs(db.query("SELECT name FROM t ORDER BY name")) do names[i] = row.name end
  return names
end)
app.get("/add/:name", function(req)
  db.exec(ADD, { req.params.name })
  return { ok = true }
end)
app.get("/keep", function()
  db.transaction(function(tx) kept = tx tx:exec(ADD, { "kept" }) end)
  return told(pcall(kept.exec, kept, ADD, { "late" }))
end)
app.get("/use-kept", function() return told(pcall(kept.exec, kept, ADD, { "later" })) end)
app.get("/batch-kept", function() return told(pcall(kept.batch, kept, function() end)) end)
app.get("/hold", function()
  db.transaction(function(tx) kept = tx tx:exec(ADD, { "held" }) time.sleep(0.5) end)
  return { ok = true }
end)
app.get("/late", function()
  local inside
  local left = told(pcall(db.transaction, function(tx)
    tx:exec(ADD, { "late" })
    time.sleep(1.8)
    inside = told(pcall(tx.exec, tx, ADD, { "later" }))
  end))
  return { inside = inside, left = left }
end)
app.get("/late-and-wrong", function()
  return told(pcall(db.transaction, function(tx)
    tx:exec(ADD, { "late" })
    time.sleep(1.8)
    error("no more")
  end))
end)
app.get("/uncaught-late", function() db.transaction(function() time.sleep(1.8) end) end)
app.get("/stay", function()
  db.transaction(function(tx) tx:exec(ADD, { "left" }) time.sleep(0.4) tx:exec(ADD, { "left behind" }) end)
end)
local swallowed
app.get("/swallow", function()
  db.transaction(function(tx)
    tx:exec(ADD, { "swallowed" })
    local ok, err = pcall(time.sleep, 1.5)
    swallowed = told(pcall(tx.exec, tx, ADD, { "behind" }))
    swallowed.cause = err.code
    time.sleep(0.2)
  end)
end)
app.get("/swallowed", function() return swallowed or {} end)
app.get("/endless", function()
  db.transaction(function(tx) tx:exec(ADD, { "endless" }) while true do end end)
end)
app.get("/endless-batch", function()
  db.transaction(function(tx) tx:batch(function() tx:exec(ADD, { "endless" }) while true do end end) end)
end)
app.get("/slow-statement", function()
  local ended = told(pcall(db.transaction, function(tx)
    tx:query("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
  end))
  -- On a busy machine a script may run longer than its limit, so that the transaction's passes first.
  if ended.code == "timeout" then error { status = 503, message = "too late" } end
  return ended
end)
app.get("/never-resumed", function()
  local co = coroutine.wrap(function()
    db.transaction(function(tx) tx:exec(ADD, { "never" }) coroutine.yield(1) end)
  end)
  return { yielded = co() }
end)
app.get("/not-awaited", function()
  db.transaction(function() time.sleep(0.1) end)
  return { begun = true }
end)
app.get("/chunk", function()
  return app.stream(function(write)
    write("before ")
    db.transaction(function(tx) tx:exec(ADD, { "chunk" }) write("inside ") end)
    write("outside")
  end)
end)
app.get("/json", function() return db.transaction(function(tx) return told(pcall(app.json.encode, { tx = tx })) end) end)
app.get("/answer", function() return db.transaction(function(tx) return { tx = tx } end) end)
app.get("/parameter", function()
  return db.transaction(function(tx) return told(pcall(tx.exec, tx, ADD, { tx })) end)
end)
app.get("/shown", function()
  return db.transaction(function(tx)
    app.log.info("a transaction", { tx = tx })
    return { text = tostring(tx), meta = tostring(getmetatable(tx)), missing = type(tx.nothing) }
  end)
end)
app.get("/on-nothing", function()
  return db.transaction(function(tx) return told(pcall(tx.exec, ADD, { "x" })) end)
end)
app.get("/on-another", function()
  return db.transaction(function(tx) return told(pcall(tx.exec, setmetatable({}, { __index = tx }), ADD, { "x" })) end)
end)
