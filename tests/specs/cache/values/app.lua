local app = require "sampan"
local cache, time = app.cache, app.time

app.get("/values", function()
  cache.set("text", "größe")
  cache.set("bytes", "\255\0")
  cache.set("number", 1.5)
  cache.set("flag", false)
  cache.set("list", app.json.array {})
  cache.set("map", { a = { 1, app.null, { b = "x" } } })
  cache.set("nothing", nil)
  return {
    text = cache.get("text"),
    bytes = cache.get("bytes") == "\255\0",
    number = cache.get("number"),
    flag = cache.get("flag"),
    list = cache.get("list"),
    map = cache.get("map"),
    nothing = cache.get("nothing") == nil,
    missing = cache.get("missing") == nil,
  }
end)
app.get("/cut", function()
  -- Texts are bytes here, so none has half of a character of UTF-16.
  cache.set("cut", { text = "caf\239\191\189", ["n\239\191\189"] = { "😀", "\\ud83d" } })
  return cache.get("cut")
end)
app.get("/copies", function()
  local value = { list = { 1 } }
  cache.set("copy", value)
  value.list[2] = 2
  local copy = cache.get("copy")
  copy.list[2] = 3
  return cache.get("copy")
end)
app.get("/delete", function()
  cache.set("gone", 1)
  cache.delete("gone")
  cache.delete("never there")
  return { gone = cache.get("gone") == nil }
end)
app.get("/ttl", function()
  cache.set("short", 1, { ttl = 0.02 })
  cache.set("long", 1, { ttl = 3600 })
  cache.set("again", 1, { ttl = 0.02 })
  cache.set("again", 2)
  time.sleep(0.05)
  return { short = cache.get("short") == nil, long = cache.get("long"), again = cache.get("again") }
end)
app.get("/full", function()
  local text = ("x"):rep(3000)
  cache.set("a", text)
  cache.set("b", text)
  cache.set("c", text)
  cache.get("a")
  cache.set("d", text)
  return { a = cache.get("a") ~= nil, b = cache.get("b") ~= nil, c = cache.get("c") ~= nil, d = cache.get("d") ~= nil }
end)
app.get("/large", function() cache.set("large", ("x"):rep(20000)) end)
app.get("/function", function() cache.set("f", function() end) end)
app.get("/key", function() cache.get("") end)
app.get("/long-key", function() cache.get(("x"):rep(1025)) end)
app.get("/no-ttl", function() cache.set("a", 1, { ttl = 0 }) end)
app.get("/option", function() cache.set("a", 1, { max_age = 1 }) end)
