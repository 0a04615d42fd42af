local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, name TEXT)")
db.exec("INSERT OR IGNORE INTO t VALUES (1, 'one'), (2, 'two')")

-- Each changes a table that native code made. Others of its kind must stay as they are.
local changes = {
  property = function(it) it.served_by = "me" end,
  many = function(it) for i = 1, 200 do it["p" .. i] = i end end,
  index = function(it) it[1] = "one"; it[70000] = 1 end,
  remove = function(it) for key in pairs(it) do it[key] = nil end it.back = 1 end,
  prototype = function(it) setmetatable(it, { __index = { added = 1 } }) end,
}

app.use("/changed/*", function(req, next)
  local res = next(req)
  -- In Lua the metatable and the fields of a response are what it is; further ones are the script's.
  local how = req.query.how
  if how == "property" or how == "many" then changes[how](res) end
  return res
end)
app.get("/changed/returned", function() return "a string" end)
app.get("/changed/text", function() return app.text("a text") end)
app.get("/changed/html", function() return app.html("<p>html</p>") end)
app.get("/changed/json", function() return app.json({ a = 1 }) end)
app.get("/untouched", function()
  local one = app.text("x")
  return { added = one.added, served_by = one.served_by, frozen = false, keys = app.json.array {} }
end)

-- The same with everything else that comes from native code.
local made = {
  rows = function() return db.query("SELECT id, name FROM t ORDER BY id") end,
  row = function() return db.one("SELECT id, name FROM t") end,
  done = function() return db.exec("UPDATE t SET name = name") end,
  items = function(req) return req:json().items end,
  params = function(req) return req.params end,
  query = function(req) return req.query end,
  headers = function(req) return req.headers end,
  state = function(req) return req.state end,
  request = function(req) return req end,
}
app.post("/made/:kind", function(req)
  local all = made[req.params.kind](req)
  local at = 0
  for _, change in pairs(changes) do
    at = at + 1
    pcall(change, #all > 0 and all[at] or all)
  end
  for _, change in pairs(changes) do pcall(change, all) end
  return { ok = true }
end)
app.get("/rows", function() return db.query("SELECT id, name FROM t ORDER BY id") end)
