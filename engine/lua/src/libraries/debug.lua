-- `debug`: where the script is. No functions, locals, upvalues or metatables are given out: they would lead into the server's own code.
local G, _, env = ...

local error, type, tostring, tonumber = G.error, G.type, G.tostring, G.tonumber
local raw_getinfo, raw_traceback = G.debug.getinfo, G.debug.traceback
local find, sub = G.string.find, G.string.sub
local concat = G.table.concat

local debug = {}

local FIELDS = { "source", "short_src", "currentline", "linedefined", "what", "name", "namewhat" }

function debug.getinfo(...)
  local thread, at, what = ...
  if type(thread) ~= "thread" then thread, at, what = nil, thread, at end
  if what ~= nil and (type(what) ~= "string" or find(what, "[^SlnufLtr]")) then
    error("bad argument #2 to 'getinfo' (invalid option)", 2)
  end
  if what and find(what, "[fL]") then
    error("debug.getinfo: 'f' and 'L' are not in the sandbox; there are 'S', 'l' and 'n'", 2)
  end
  if type(at) ~= "function" then
    local level = tonumber(at)
    if not level then error("bad argument #1 to 'getinfo' (function or level expected)", 2) end
    if not (level >= 0 and level < 1e6) then return nil end
    at = thread and level or level + 1
  end
  local info
  if thread then info = raw_getinfo(thread, at, "Sln") else info = raw_getinfo(at, "Sln") end
  if not info then return nil end
  local shown = {}
  for at = 1, #FIELDS do shown[FIELDS[at]] = info[FIELDS[at]] end
  return shown
end

-- Lines of the server's own Lua tell a reader nothing.
local OWN = "^\t%[[a-z0-9]+%]:%d+:"
local function without_own(text)
  local lines, start = {}, 1
  repeat
    local stop = find(text, "\n", start, true)
    local line = sub(text, start, stop and stop - 1)
    if not find(line, OWN) then lines[#lines + 1] = line end
    start = stop and stop + 1
  until not stop
  return concat(lines, "\n")
end

function debug.traceback(...)
  local thread, message, level = ...
  if type(thread) ~= "thread" then thread, message, level = nil, thread, message end
  local kind = type(message)
  if kind ~= "string" and kind ~= "number" and kind ~= "nil" then return message end
  level = tonumber(level)
  if level and not (level >= 0 and level < 1e6) then level = 1e6 end
  local stack
  if thread then stack = raw_traceback(thread, "", level or 0) else stack = raw_traceback("", (level or 1) + 1) end
  stack = without_own(sub(stack, 2))
  return message == nil and stack or tostring(message) .. "\n" .. stack
end

env.debug = debug
