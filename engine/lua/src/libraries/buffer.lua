-- `string.buffer`: LuaJIT's own, behind methods that a script cannot misuse.
--
-- `ref`, `reserve`, `commit` and `putcdata` are left out, and `set` takes text only: they give or take raw pointers. Text is made before
-- LuaJIT's method runs, because a `__tostring` that uses the same buffer in another coroutine would confuse it. Dictionaries are copied,
-- because LuaJIT keeps indices in them that a script could replace. What is decoded is searched for pointers.
--
-- Decoding is kept out of compiled code. There LuaJIT looks for the line of an error like "table index is nil" through a program counter that
-- is out of date, and crashes on text that is no valid encoding.
local G, host = ...

local error, type, tostring, next, select, unpack = G.error, G.type, G.tostring, G.next, G.select, G.unpack
local pcall = G.pcall
local raw = G.require("string.buffer")
local format, NULL = G.string.format, host.null

-- The methods are in the metatable itself, which scripts cannot see.
local raw_buffer = raw.new()
local meta = G.debug.getmetatable(raw_buffer)
local raw_put, raw_set, raw_encode = meta.put, meta.set, meta.encode
local decode_method, decode_text = host.interpreted(meta.decode), host.interpreted(raw.decode)

local function is_buffer(value) return G.debug.getmetatable(value) == meta end
local function check(value, name)
  if not is_buffer(value) then error("buffer:" .. name .. ": write a colon, not a dot: buffer:" .. name .. "(...)", 3) end
end

local methods = {}
for _, name in G.ipairs { "reset", "free", "get", "skip", "tostring" } do methods[name] = meta[name] end

-- Text, numbers and other buffers go in as they are; what has `__tostring` becomes text first.
local function plain(value, at)
  local kind = type(value)
  if kind == "string" or kind == "number" or is_buffer(value) then return value end
  local own = G.debug.getmetatable(value)
  if own == nil or G.rawget(own, "__tostring") == nil then
    error("buffer:put: argument " .. at .. " must be a string, a number, a buffer or have __tostring, not a " .. kind, 3)
  end
  local text = tostring(value)
  if type(text) ~= "string" then error("buffer:put: __tostring must return a string, not a " .. type(text), 3) end
  return text
end

function methods.put(buffer, ...)
  check(buffer, "put")
  local count = select("#", ...)
  if count == 1 then return raw_put(buffer, plain(..., 1)) end
  local parts = { ... }
  for at = 1, count do parts[at] = plain(parts[at], at) end
  return raw_put(buffer, unpack(parts, 1, count))
end

function methods.putf(buffer, ...)
  check(buffer, "putf")
  return raw_put(buffer, format(...))
end

function methods.set(buffer, text)
  check(buffer, "set")
  if type(text) ~= "string" then error("buffer:set: the argument must be a string, not a " .. type(text), 2) end
  return raw_set(buffer, text)
end

-- Encoding visits a table as often as it is reached. It is C, which cannot be stopped, so the visits are counted first.
local VALUES_MAX = 4000000
local function count(value, left, depth)
  if type(value) ~= "table" then return left - 1 end
  if depth == 0 then error("the table is nested too deeply, or contains itself", 0) end
  for key, inner in next, value do
    left = count(inner, count(key, left, depth - 1), depth - 1)
    if left < 0 then error("there are more than " .. VALUES_MAX .. " values in it", 0) end
  end
  return left - 1
end
local function check_size(name, value)
  local ok, message = pcall(count, value, VALUES_MAX, 100)
  if not ok then error(name .. ": " .. tostring(message), 3) end
end

-- Light userdata but null would be pointers, and marks of the server's own.
local function has_pointer(value)
  if type(value) == "userdata" then return value ~= NULL end
  if type(value) ~= "table" then return false end
  for key, inner in next, value do
    if has_pointer(key) or has_pointer(inner) then return true end
  end
  return false
end
local function checked(value)
  if has_pointer(value) then error("the encoded text holds a pointer, which the sandbox refuses", 2) end
  return value
end

function methods.encode(buffer, value)
  check(buffer, "encode")
  check_size("buffer:encode", value)
  return raw_encode(buffer, value)
end

function methods.decode(buffer)
  check(buffer, "decode")
  return checked(decode_method(buffer))
end

meta.__index = methods

local function copy(options, name, kind)
  local list = options[name]
  if list == nil then return nil end
  if type(list) ~= "table" then error("buffer.new: " .. name .. " must be a list, not a " .. type(list), 3) end
  local own = {}
  for at = 1, #list do
    local item = list[at]
    if item ~= false and type(item) ~= kind then
      error("buffer.new: " .. name .. " must hold only " .. kind .. "s, not a " .. type(item), 3)
    end
    own[at] = item
  end
  return own
end

local buffer = {}

function buffer.new(size, options)
  if type(size) == "table" then size, options = nil, size end
  if options == nil then return raw.new(size) end
  if type(options) ~= "table" then error("buffer.new: the options must be a table, not a " .. type(options), 2) end
  return raw.new(size, { dict = copy(options, "dict", "string"), metatable = copy(options, "metatable", "table") })
end

function buffer.encode(value)
  check_size("buffer.encode", value)
  return raw.encode(value)
end

function buffer.decode(text)
  if type(text) ~= "string" then error("buffer.decode: the argument must be a string, not a " .. type(text), 2) end
  return checked(decode_text(text))
end

host.buffer = buffer
