-- `load`, and the environments of functions.
--
-- A script may read and replace the environment of its own functions. Those are known by their environment: it is the globals of the
-- scripts, or a table that a script gave to `load` or `setfenv`. The server's functions have LuaJIT's own globals, which hold everything
-- that the sandbox leaves out; neither function below ever gives or takes that table.
local G, host, env = ...

local error, type, tonumber, load = G.error, G.type, G.tonumber, G.load
local raw_getfenv, raw_setfenv, getinfo = G.getfenv, G.setfenv, G.debug.getinfo
local concat = G.table.concat

-- The globals of the script at hand: always the same, unless each request has its own (`worlds.lua`).
local here = host.here
here[1].env = env
local scopes = G.setmetatable({}, { __mode = "k" })
local function is_scope(scope) return scope == here[1].env or scopes[scope] end

-- Text only: bytecode is not checked by LuaJIT, and can do anything.
function env.load(chunk, name, mode, scope)
  if mode ~= nil and mode ~= "t" and mode ~= "bt" then
    return nil, "load: only text can be loaded"
  end
  if type(chunk) == "function" then
    local parts = {}
    while true do
      local part = chunk()
      if part == nil or part == "" then break end
      if type(part) ~= "string" then return nil, "load: the reader function must return a string" end
      parts[#parts + 1] = part
    end
    chunk, name = concat(parts), name or "=(load)"
  end
  if type(scope) == "table" then
    scopes[scope] = true
  else
    scope = here[1].env
  end
  return load(chunk, name, "t", scope)
end
function env.loadstring(text, name) return env.load(text, name) end

-- The function that the caller of `getfenv` or `setfenv` means: one, or a level of the stack.
local function meant(name, fn)
  if type(fn) == "function" then return fn end
  local level = tonumber(fn)
  if not level then error("bad argument #1 to '" .. name .. "' (number expected, got " .. type(fn) .. ")", 3) end
  if level < 0 then error("bad argument #1 to '" .. name .. "' (level must be non-negative)", 3) end
  local info = level < 1e6 and getinfo(level + 2, "f")
  if not info then error("bad argument #1 to '" .. name .. "' (invalid level)", 3) end
  return info.func
end

function env.getfenv(fn)
  if fn == nil then fn = 1 end
  if tonumber(fn) == 0 then return here[1].env end
  local scope = raw_getfenv(meant("getfenv", fn))
  return is_scope(scope) and scope or here[1].env
end

function env.setfenv(fn, scope)
  if type(scope) ~= "table" then
    error("bad argument #2 to 'setfenv' (table expected, got " .. type(scope) .. ")", 2)
  end
  if tonumber(fn) == 0 then
    error("setfenv: the globals of a coroutine cannot be replaced in the sandbox; give load an environment", 2)
  end
  local own = meant("setfenv", fn)
  if not is_scope(raw_getfenv(own)) or getinfo(own, "S").what == "C" then
    error("setfenv: the function is not one of the script's own, so its environment cannot be replaced", 2)
  end
  scopes[scope] = true
  return raw_setfenv(own, scope)
end
