local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)")

local ADD = "INSERT INTO t (name) VALUES (?)"
local function told(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end

app.get("/sums", function()
  cache.set("set", 40)
  return { cache.incr("new"), cache.incr("new", 5), cache.incr("new", -8), cache.incr("set", 2), cache.get("set") }
end)
app.get("/ttl", function()
  local first = cache.incr("window", 1, { ttl = 0.02 })
  cache.incr("forever")
  cache.incr("forever", 1, { ttl = 0.02 })
  time.sleep(0.05)
  return { first, cache.incr("window", 1, { ttl = 60 }), cache.incr("window"), cache.incr("forever") }
end)
app.post("/hit", function()
  cache.incr("hits")
  return "counted"
end)
app.post("/hit/written", function()
  db.exec("INSERT INTO t (name) VALUES (NULL)")
  cache.incr("hits")
  return "counted"
end)
app.get("/get/:key", function(req) return { value = cache.get(req.params.key) or "none" } end)
app.post("/write", function()
  db.exec(ADD, { "a" })
  return { cache.incr("write"), cache.incr("write", 4), cache.get("write") }
end)
app.post("/batch", function()
  cache.incr("batch")
  pcall(db.batch, function()
    db.exec(ADD, { "b" })
    cache.incr("batch", 10)
    error("rolled back")
  end)
  return { cache.get("batch"), cache.incr("batch") }
end)
app.get("/faults", function()
  cache.set("text", "1")
  cache.set("half", 1.5)
  return {
    told(cache.incr, "text"), told(cache.incr, "half"), told(cache.incr, ""), told(cache.incr, "k", 1, { ttl = 0 }),
    told(cache.incr, "k", 1, { size = 1 }), cache.get("text"), cache.get("half"),
  }
end)
app.get("/fraction", function() return { cache.incr("k", 1.5) } end)
