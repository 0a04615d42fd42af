local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS calls (name TEXT)")

local function called(name) db.exec("INSERT INTO calls (name) VALUES (?)", { name }) end
local function wait_for(key)
  while cache.get(key) == nil do time.sleep(0.002) end
end

app.get("/calls/:name", function(req)
  return { n = db.one("SELECT count(*) AS n FROM calls WHERE name = ?", { req.params.name }).n }
end)
app.get("/shared", function()
  return cache.once("shared", { ttl = 600 }, function()
    called("shared")
    time.sleep(0.05)
    return { made = { 1, 2 }, [1.5] = nil }
  end)
end)
app.get("/kept", function()
  return { cache.once("kept", function() return "first" end), cache.once("kept", function() return "second" end),
    cache.get("kept") }
end)
app.get("/nothing", function()
  local n = 0
  local function fn() n = n + 1 end
  local first, second = cache.once("nothing", fn), cache.once("nothing", fn)
  return { n = n, first = first == nil, second = second == nil }
end)
-- The first waits until the second waits for it.
app.get("/fails", function()
  local ok, err = pcall(cache.once, "fails", function()
    cache.set("begun", true)
    wait_for("waits")
    error({ message = "no luck", code = "own" })
  end)
  return { ok = ok, code = err.code }
end)
app.get("/waits", function()
  wait_for("begun")
  cache.set("waits", true)
  return cache.once("fails", function() return "not called" end)
end)
app.get("/after", function() return cache.once("fails", function() return "the next one makes it" end) end)
-- A change makes what was begun before it out of date.
app.get("/outdated", function()
  local first = cache.once("changed", function()
    cache.delete("changed")
    return "old"
  end)
  return { first, cache.once("changed", function() return "new" end) }
end)
app.get("/function", function() return cache.once("f", function() return function() end end) end)
app.get("/after-function", function() return cache.once("f", function() return "made" end) end)
app.get("/no-function", function() return cache.once("f", { ttl = 1 }) end)
app.get("/option", function() return cache.once("o", { max_age = 1 }, function() end) end)
app.get("/behind", function() return cache.once("b", function() end, { ttl = 1 }) end)
