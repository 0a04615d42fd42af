local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")
  db.exec("CREATE TABLE IF NOT EXISTS calls (n INTEGER)")
end)

local ADD = "INSERT INTO t (name) VALUES (?)"
local function told(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or tostring(err):match("not a whole number") or tostring(err)
end

app.get("/get/:key", function(req) return { value = cache.get(req.params.key) or "none" } end)
app.post("/delete/:key", function(req) cache.delete(req.params.key) return "deleted" end)
app.get("/values", function()
  cache.set("text", "größe\0")
  cache.set("bytes", "\255\0")
  cache.set("number", 1.5)
  cache.set("flag", false)
  cache.set("map", { a = { 1, "x" } })
  cache.set("whole\0", 7)
  cache.set("gone", 1)
  cache.delete("gone")
  cache.delete("never there")
  return { text = cache.get("text") == "größe\0", bytes = cache.get("bytes") == "\255\0", number = cache.get("number"),
    flag = cache.get("flag"), map = cache.get("map"), whole = cache.get("whole\0"), gone = cache.get("gone") == nil,
    missing = cache.get("missing") == nil }
end)
app.get("/ttl", function()
  cache.set("short", 1, { ttl = 0.02 })
  cache.set("long", 1, { ttl = 3600 })
  cache.set("again", 1, { ttl = 0.02 })
  cache.set("again", 2)
  cache.incr("window", 5, { ttl = 0.02 })
  time.sleep(0.05)
  return { short = cache.get("short") == nil, long = cache.get("long"), again = cache.get("again"),
    window = cache.incr("window") }
end)
app.post("/hit", function()
  cache.incr("hits")
  return "counted"
end)
app.get("/sums", function()
  cache.set("words", "1")
  cache.set("half", 1.5)
  return { cache.incr("new"), cache.incr("new", 5), cache.incr("new", -8), told(cache.incr, "words"),
    told(cache.incr, "half"), cache.get("words"), cache.get("half") }
end)
app.get("/once", function()
  return cache.once("once", { ttl = 600 }, function()
    db.exec("INSERT INTO calls (n) VALUES (1)")
    time.sleep(0.05)
    return { made = { 1, 2 } }
  end)
end)
app.get("/calls", function() return { n = db.one("SELECT count(*) AS n FROM calls").n } end)
app.get("/nothing", function()
  local n = 0
  local function fn() n = n + 1 end
  local first, second = cache.once("nothing", fn), cache.once("nothing", fn)
  return { n = n, first = first == nil, second = second == nil }
end)
-- A change makes what was begun before it out of date.
app.get("/outdated", function()
  local first = cache.once("changed", function()
    cache.delete("changed")
    return "old"
  end)
  return { first, cache.once("changed", function() return "new" end) }
end)
app.get("/fails", function()
  local failed = not pcall(cache.once, "fails", function() error("no luck") end)
  return { failed, cache.once("fails", function() return "made" end) }
end)
app.post("/batch/:end", function(req)
  local ends = req.params["end"]
  pcall(db.batch, function()
    db.exec(ADD, { "batch " .. ends })
    cache.set("batch", ends)
    if ends == "fails" then error("rolled back") end
  end)
  return { cache.get("batch") or "none" }
end)
app.post("/transaction/:end", function(req)
  local ends = req.params["end"]
  local seen, once
  pcall(db.transaction, function(tx)
    tx:exec(ADD, { "transaction " .. ends })
    cache.set("transaction", ends)
    once = cache.once("in transaction", function() return ends end)
    seen = cache.get("transaction")
    if ends == "fails" then error("rolled back") end
  end)
  return { seen, once, cache.get("transaction") or "none", cache.get("in transaction") or "none" }
end)
app.get("/full", function()
  for n = 1, 10 do cache.set("v" .. n, ("x"):rep(3000)) end
  return { cache.get("v1") == nil, #cache.get("v10"), told(cache.set, "large", ("x"):rep(2000000)) ~= "taken" }
end)
