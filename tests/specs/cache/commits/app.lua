-- What may depend on writes that are not committed is seen by others when they are.
local app = require "sampan"
local cache, db = app.cache, app.db

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local ADD = "INSERT INTO t (name) VALUES (?)"

app.get("/get/:key", function(req) return { value = cache.get(req.params.key) or "none" } end)
app.post("/write", function()
  db.exec(ADD, { "a" })
  cache.set("write", 1)
  local set = cache.get("write")
  cache.delete("write")
  local deleted = cache.get("write") == nil
  cache.set("write", 2)
  return { set, deleted, cache.get("write") }
end)
app.post("/many", function()
  db.exec(ADD, { "many" })
  local value = ("x"):rep(1000000)
  for i = 0, 11 do cache.set("many" .. i, value) end
  return { cache.get("many0") == nil, #cache.get("many11") }
end)
app.get("/many", function() return { cache.get("many0") == nil, #cache.get("many11") } end)
app.post("/once", function()
  db.exec(ADD, { "b" })
  cache.set("once", "old")
  cache.delete("once")
  local made = cache.once("once", function() return db.one("SELECT count(*) AS n FROM t").n end)
  return { made, cache.once("once", function() return "again" end) }
end)
app.post("/batch", function()
  cache.set("batch", "before")
  pcall(db.batch, function()
    db.exec(ADD, { "c" })
    cache.set("batch", "inside")
    error("rolled back")
  end)
  return { cache.get("batch") }
end)
app.post("/transaction/:end", function(req)
  local seen, once
  pcall(db.transaction, function(tx)
    tx:exec(ADD, { "d" .. req.params["end"] })
    cache.set("transaction", req.params["end"])
    once = cache.once("in transaction", function() return req.params["end"] end)
    seen = cache.get("transaction")
    if req.params["end"] == "fails" then error("rolled back") end
  end)
  return { seen, once, cache.get("transaction") or "none", cache.get("in transaction") or "none" }
end)
