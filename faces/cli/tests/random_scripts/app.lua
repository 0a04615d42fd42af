-- Random scripts: each request calls functions of all modules with hostile values, and changes what it was given and what it gets. What a
-- script finds by itself is called, so a new function of any module is tried without a line here.
local app = require "sampan"

-- Bytes choose, where there are any; numbers drawn from the seed choose the rest.
local byte = string.byte
local function generator(seed, bytes)
  local state = (seed * 69069 + 1) % 4294967296
  local at, size = 0, bytes and #bytes or 0
  return function(below)
    if at + 1 < size and below > 256 then
      at = at + 2
      return (byte(bytes, at - 1) * 256 + byte(bytes, at)) % below + 1
    elseif at < size then
      at = at + 1
      return byte(bytes, at) % below + 1
    end
    state = (state * 1664525 + 1013904223) % 4294967296
    return math.floor(state / 65536) % below + 1
  end
end

-- Hashing of passwords and sleeping are slow by design, and what runs at start and stop is declared once. A program without a server has
-- `calls`, by which its own file is called.
local SKIPPED = {
  [app.password.hash] = true, [app.password.verify] = true, [app.time.sleep] = true, [app.on_start] = true, [app.on_stop] = true,
}
local own_calls = rawget(app, "calls")
if own_calls then SKIPPED[own_calls.serve] = true end
-- The functions with their owners, and the names of all, which the test compares with the tables of functions.
local calls, reached, known = {}, {}, {}
local function walk(owner, depth, path)
  if depth > 3 or type(owner) ~= "table" or known[owner] then return end
  known[owner] = true
  for name, value in pairs(owner) do
    if type(value) == "function" and not SKIPPED[value] then
      calls[#calls + 1] = { owner, value }
      reached[#reached + 1] = path .. "." .. tostring(name)
    end
    walk(value, depth + 1, tostring(name))
  end
end
walk(app, 0, "app")
for _, library in ipairs { string, table, math, coroutine, os, debug, package, bit } do
  if library then walk(library, 2, "") end
end
for _, name in ipairs { "tostring", "tonumber", "next", "rawset", "rawget", "setmetatable", "getmetatable", "select", "unpack", "pcall", "loadstring" } do
  calls[#calls + 1] = { _G, _G[name] }
end

local function failing() error("hostile") end
local cyclic = { 1 }
cyclic.self = cyclic
local kept = {}
local TEXTS = { "", "a", "\0", "\255\254", "__index", "SELECT 1", "INSERT INTO t VALUES (1)", "CREATE TABLE IF NOT EXISTS t (a)", "/a/:b",
  "../../etc/passwd", "public/a.txt", "text/html", "%", "%b", "{{ [1] * 9999999 }}", "{% for", ("\240\159\152\128"):rep(50), "(a+)+$", "2026-02-30",
  "Europe/Berlin", "a=1&b[c]=2", "{\"a\":[1,", "application/json", "GET", "404", "-1", "1e999", "\r\nSet-Cookie: x=1", "%q%s%d%x", "return 1" }
local MAKERS = {
  function() return nil end, function() return true end, function() return 0 / 0 end, function() return -0.0 end, function() return math.huge end,
  function() return 2 ^ 53 end, function() return -1 end, function() return 4294967290 end, function() return 0.5 end, function() return 7 end,
  function() return 200 end, function() return 9007199254740993LL end, function() return 1ULL end, function() return {} end, function() return cyclic end,
  function() return { [4294967290] = 1 } end, function() return { [1] = 1, [3] = 3 } end, function() return { a = 1, [1] = 2 } end,
  function() return setmetatable({}, { __index = failing, __newindex = failing, __len = failing, __call = failing, __tostring = failing }) end,
  function() return setmetatable({}, { __len = function() return 1e9 end, __index = function(_, at) return at end }) end,
  function() return setmetatable({}, { __pairs = failing, __ipairs = failing, __metatable = false }) end,
  function() return setmetatable({}, { __eq = failing, __lt = failing, __concat = failing, __unm = failing }) end,
  function() return failing end, function() return print end, function() return coroutine.create(failing) end,
  function() return coroutine.wrap(function() coroutine.yield(1) end) end, function() return app.null end, function() return ("x"):rep(100000) end,
  function() local deep = {} for _ = 1, 2000 do deep = { deep } end return deep end,
  function() local list = {} for at = 1, 1000 do list[at] = "x" end return list end, function() return { status = 999, headers = { a = "b\r\n" } } end,
  function() return app.text("r") end, function() return app.json({ 1 }) end, function() return app.redirect("/") end,
  function() return { [{}] = 1, [true] = 2 } end, function() return io and io.stdout end,
}
local CHANGES = {
  function(v, x) v.served_by = x end, function(v, x) v.status = x end, function(v, x) v.headers.x = x end, function(v, x) v[1] = x end,
  function(v) for key in pairs(v) do v[key] = nil end end, function(v, x) setmetatable(v, x) end, function(v) setmetatable(v, { __index = failing }) end,
  function(v) return app.json.encode(v) end, function(v) return tostring(v) end, function(v, x) for at = 1, 40 do v["p" .. at] = x end end,
  function(v) return #v end, function(v) return v .. "" end, function(v, x) rawset(v, "headers", x) end, function(v, x) v.body = x end,
  function(v, x) debug.setmetatable(v, x) end, function(v) table.sort(v) end, function(v) return table.concat(v) end, function(v) return unpack(v) end,
}

local function script(random, req)
  local values, count = { req }, 1
  local function any()
    local at = random(10)
    if at < 5 then return MAKERS[random(#MAKERS)]() end
    if at < 7 then return TEXTS[random(#TEXTS)] end
    if at == 7 then return kept[random(20)] end
    return values[random(count)]
  end
  local function attempt(work, ...)
    local _, value = pcall(work, ...)
    if value == nil then return end
    if count < 40 then count = count + 1 end
    values[count < 40 and count or random(40)] = value
  end
  for _ = 1, 12 do
    local what = random(8)
    if what <= 4 then
      local call = calls[random(#calls)]
      local own = random(6) == 1
      attempt(call[2], own and call[1] or any(), any(), any(), any())
    elseif what == 5 then
      local value = any()
      attempt(function()
        local names = {}
        for name in pairs(value) do names[#names + 1] = name end
        local name = names[random(#names)]
        local member = value[name]
        if member ~= nil and SKIPPED[member] then return nil end
        if type(member) == "function" then return member(value, any(), any()) end
        return member
      end)
    else
      local value = any()
      -- What all requests share stays usable: the scripts themselves need it.
      if not known[value == nil and 0 or value] and value ~= _G then attempt(CHANGES[random(#CHANGES)], value, any()) end
    end
  end
  for at = 2, 3 do kept[random(20)] = values[at] end
  return any()
end

app.use("/run/*", function(req, next)
  local random = generator(tonumber(req.params.seed) + 7)
  local res = next(req)
  for _ = 2, random(4) do
    local of = random(2) == 1 and res or type(res) == "table" and res.headers
    pcall(CHANGES[random(#CHANGES)], of, MAKERS[random(#MAKERS)]())
  end
  if random(3) > 1 then return res end
end)
local function run(req)
  local random = generator(tonumber(req.params.seed), req.method == "POST" and req:bytes() or nil)
  local last
  for _ = 1, tonumber(req.query.count or 1) do
    last = script(random, req)
    if random(20) == 1 then app.time.sleep(0.001) end
  end
  return last
end
app.get("/run/:seed", run)
-- The fuzz target `random_scripts` makes the bytes.
app.post("/run/:seed", run)
local size = #calls
app.get("/reached", function() return reached end)
app.get("/plain", function() return { calls = size, kept = true } end)
app.on_error(function() return "failed" end)
