-- `debug`: where the script is. No locals, upvalues or functions are given out that the script does not have: they would lead into the
-- server's own code. Metatables are those that `getmetatable` and `setmetatable` show.
local G, host, env = ...

local error, type, tonumber = G.error, G.type, G.tonumber
local raw_getinfo = G.debug.getinfo
local find = G.string.find

local debug = { traceback = host.traceback, getmetatable = env.getmetatable }

local FIELDS = {
  "source", "short_src", "currentline", "linedefined", "lastlinedefined", "what", "name", "namewhat", "nparams", "isvararg",
}

function debug.getinfo(...)
  local thread, at, what = ...
  if type(thread) ~= "thread" then thread, at, what = nil, thread, at end
  if what ~= nil and (type(what) ~= "string" or find(what, "[^SlnufLtr]")) then
    error("bad argument #2 to 'getinfo' (invalid option)", 2)
  end
  local fn = type(at) == "function" and at or nil
  if what and (find(what, "L", 1, true) or not fn and find(what, "f", 1, true)) then
    error("debug.getinfo: 'L', and 'f' of a level, are not in the sandbox; there are 'S', 'l', 'n' and 'u'", 2)
  end
  if not fn then
    local level = tonumber(at)
    if not level then error("bad argument #1 to 'getinfo' (function or level expected)", 2) end
    if not (level >= 0 and level < 1e6) then return nil end
    at = thread and level or level + 1
  end
  local info
  if thread then info = raw_getinfo(thread, at, "Slnu") else info = raw_getinfo(at, "Slnu") end
  if not info then return nil end
  local shown = { func = fn }
  for at = 1, #FIELDS do shown[FIELDS[at]] = info[FIELDS[at]] end
  return shown
end

-- Values other than tables share the metatable of their type, and with it all scripts of the isolate. A library that takes away that of
-- strings while it reads foreign text, and gives back what `getmetatable` gave it, goes on: the metatable stays where it is.
local setmetatable = env.setmetatable
function debug.setmetatable(value, meta)
  if type(value) == "string" and not meta then return value end
  if type(value) ~= "table" then
    error("debug.setmetatable: only tables can be given a metatable here, not a " .. type(value) ..
      ": all values of its type would share it", 2)
  end
  return setmetatable(value, meta)
end

env.debug = debug
