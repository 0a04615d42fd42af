-- The globals of user scripts, built from an allowlist.
--
-- Called once per isolate with LuaJIT's own globals and the host's table; returns the new globals. What is named neither here nor in
-- `libraries/` does not exist for scripts: ffi, jit, bytecode, files, the metatable of strings.
local G, host = ...

local error, select, type, tostring, tonumber = error, select, type, tostring, tonumber
local raw_resume, raw_yield, raw_create = G.coroutine.resume, G.coroutine.yield, G.coroutine.create
local isyieldable, status = G.coroutine.isyieldable, G.coroutine.status
local floor = G.math.floor
local HOST = host.mark

-- Raises the error of an argument in LuaJIT's words, at the caller of the function that calls this.
local function bad(at, name, expected, value)
  local found = value == nil and "no value" or type(value)
  error("bad argument #" .. at .. " to '" .. name .. "' (" .. expected .. " expected, got " .. found .. ")", 3)
end

local function copy(from, names)
  local to = {}
  for name in names:gmatch("%S+") do to[name] = from[name] end
  return to
end

local env = copy(G, [[assert error ipairs next pairs pcall rawequal rawget rawlen rawset select
  setmetatable tonumber tostring type unpack gcinfo _VERSION]])
env._G = env
-- Rows look like tables without a metatable, which may be given another.
local raw_getmetatable = G.getmetatable
local rawget = G.rawget
function env.getmetatable(value)
  local meta = raw_getmetatable(value)
  if type(meta) == "table" and rawget(meta, 0) == HOST then return nil end
  return meta
end
env.table = copy(G.table, [[concat foreach foreachi getn insert maxn move pack remove sort clone isarray
  isempty nkeys]])
env.table.unpack, env.table.clear = G.unpack, G.require("table.clear")
-- Sizes that LuaJIT refuses are refused here: compiled code that raises LuaJIT's own error for them can crash.
local new_table, SIZE_MAX = G.require("table.new"), 2 ^ 26
function env.table.new(list, named)
  list, named = tonumber(list) or list, tonumber(named) or named
  if type(list) == "number" and type(named) == "number"
    and not (list >= 0 and list <= SIZE_MAX and named >= 0 and named <= SIZE_MAX) then
    error("table.new: the sizes must be from 0 to " .. SIZE_MAX, 2)
  end
  return new_table(list, named)
end
env.math = copy(G.math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf
  pi pow rad random randomseed sin sinh sqrt tan tanh]])
env.bit = copy(G.bit, "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex")
env.os = copy(G.os, "time date clock difftime")
-- Where tests may set the time, the functions of the clock follow it.
local now, real_time, real_date = host.now, G.os.time, G.os.date
if now then
  function env.os.time(parts)
    if parts == nil then return now() end
    return real_time(parts)
  end
  function env.os.date(format, time) return real_date(format, time or now()) end
end

local string = copy(G.string, "byte char find format gmatch gsub len lower match rep reverse sub upper")
env.string = string
local meta = G.getmetatable("")
meta.__index = string
meta.__metatable = false

-- Coroutines: a yield of the host inside a coroutine of the user's own is passed outward, to the handler's coroutine, and
-- from there to the event loop; what comes back is passed inward again.
-- Each coroutine that resumes another takes a piece of the C stack, so they nest only so deeply.
local nest, plain_resume = host.nest, raw_resume
local function shallower(...)
  nest(-1)
  return ...
end
local function raw_resume(co, ...)
  if nest(1) > host.nested_max then
    nest(-1)
    error("coroutines nested too deeply", 0)
  end
  return shallower(plain_resume(co, ...))
end
host.resume = raw_resume
local function pass(co, ok, first, ...)
  if ok and first == HOST then
    if not isyieldable() then
      error(host.cannot_wait, 0)
    end
    return pass(co, raw_resume(co, raw_yield(HOST)))
  end
  return ok, first, ...
end
local function rethrow(ok, ...)
  if ok then return ... end
  error((...), 0)
end
local coroutine = copy(G.coroutine, "create isyieldable running status")
local check_yield = host.check_yield
function coroutine.yield(...)
  check_yield()
  return raw_yield(...)
end
function coroutine.resume(co, ...)
  if type(co) ~= "thread" then error("bad argument #1 to 'resume' (coroutine expected)", 2) end
  return pass(co, raw_resume(co, ...))
end
function coroutine.wrap(fn)
  if type(fn) ~= "function" then bad(1, "wrap", "function", fn) end
  local co = raw_create(fn)
  return function(...) return rethrow(pass(co, raw_resume(co, ...))) end
end
env.coroutine = coroutine

-- A message handler runs with hooks off while a stop is raised, so that it could not be stopped itself: it is passed over.
local raw_xpcall, traceback = G.xpcall, host.traceback
function env.xpcall(fn, handler, ...)
  if type(handler) ~= "function" then bad(2, "xpcall", "function", handler) end
  -- It looks for the stop itself, and the stack has no room for more where it overflowed.
  if handler == traceback then return raw_xpcall(fn, handler, ...) end
  return raw_xpcall(fn, function(message)
    if host.must_stop() then return message end
    return handler(message)
  end, ...)
end

function env.collectgarbage(what)
  if what ~= nil and what ~= "count" then
    error('collectgarbage: only "count" is there; memory is managed by the server', 2)
  end
  return G.collectgarbage("count")
end

function env.print(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local ok, text = G.pcall(tostring, (select(i, ...)))
    parts[i] = ok and type(text) == "string" and text or "[table: its __tostring failed]"
  end
  host.print(G.table.concat(parts, "\t"))
end

return env
