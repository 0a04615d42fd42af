-- `utf8` of Lua 5.3 (reference manual, section 6.5), errors included: surrogates are accepted, what is longer than needed and what is
-- above 10FFFF is not.
local G, _, env = ...

local error, type, tostring, tonumber, select, unpack, pcall = G.error, G.type, G.tostring, G.tonumber, G.select, G.unpack, G.pcall
local byte, char = G.string.byte, G.string.char
local floor, concat = G.math.floor, G.table.concat

local MAX = 0x10FFFF
-- The largest code that fewer continuation bytes hold, by their count.
local LIMITS = { [0] = 0xFF, 0x7F, 0x7FF, 0xFFFF }

-- Errors name the caller of the library's function, which calls these directly.
local function bad(at, name, what) error("bad argument #" .. at .. " to '" .. name .. "' (" .. what .. ")", 4) end

local function text(name, value)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  bad(1, name, "string expected, got " .. (value == nil and "no value" or type(value)))
end

local function integer(at, name, value, default)
  if value == nil and default then return default end
  local number = tonumber(value)
  if not number or (type(value) ~= "number" and type(value) ~= "string") then
    bad(at, name, "number expected, got " .. (value == nil and "no value" or type(value)))
  end
  if number ~= floor(number) or number - number ~= 0 then bad(at, name, "number has no integer representation") end
  return number
end

-- A position that may count from the end.
local function position(at, length)
  if at >= 0 then return at end
  if -at > length then return 0 end
  return length + at + 1
end

local function is_continuation(s, at)
  local b = byte(s, at)
  return b ~= nil and b >= 0x80 and b < 0xC0
end

-- The code that begins at byte `at` and the position after it; nil if there is none.
local function decode(s, at)
  local c = byte(s, at)
  if not c then return nil end
  if c < 0x80 then return c, at + 1 end
  if c < 0xC2 or c > 0xF4 then return nil end
  local count = c < 0xE0 and 1 or c < 0xF0 and 2 or 3
  local code = c % 2 ^ (6 - count)
  for after = at + 1, at + count do
    local b = byte(s, after)
    if not b or b < 0x80 or b > 0xBF then return nil end
    code = code * 64 + b - 0x80
  end
  if code > MAX or code <= LIMITS[count] then return nil end
  return code, at + count + 1
end

local function encode(code)
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
  if code < 0x10000 then
    return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
  end
  return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

-- LuaJIT's patterns end at a NUL, so it is written as %z here.
local utf8 = { charpattern = "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*" }

function utf8.char(...)
  local parts = {}
  for at = 1, select("#", ...) do
    local code = integer(at, "char", (select(at, ...)))
    if code < 0 or code > MAX then error("bad argument #" .. at .. " to 'char' (value out of range)", 2) end
    parts[at] = encode(code)
  end
  return concat(parts)
end

-- Takes the frame of its caller, because that one ends with this call.
local function all(ok, ...)
  if not ok then error("string slice too long", 2) end
  return ...
end
function utf8.codepoint(s, i, j)
  s = text("codepoint", s)
  local first = position(integer(2, "codepoint", i, 1), #s)
  local last = position(integer(3, "codepoint", j, first), #s)
  if first < 1 then error("bad argument #2 to 'codepoint' (out of range)", 2) end
  if last > #s then error("bad argument #3 to 'codepoint' (out of range)", 2) end
  local codes, count = {}, 0
  while first <= last do
    local code, after = decode(s, first)
    if not code then error("invalid UTF-8 code", 2) end
    count = count + 1
    codes[count], first = code, after
  end
  return all(pcall(unpack, codes, 1, count))
end

function utf8.len(s, i, j)
  s = text("len", s)
  local first = position(integer(2, "len", i, 1), #s)
  local last = position(integer(3, "len", j, -1), #s)
  if first < 1 or first > #s + 1 then error("bad argument #2 to 'len' (initial position out of string)", 2) end
  if last > #s then error("bad argument #3 to 'len' (final position out of string)", 2) end
  local count = 0
  while first <= last do
    local code, after = decode(s, first)
    if not code then return nil, first end
    count, first = count + 1, after
  end
  return count
end

local function step(s, at)
  s, at = text("for iterator", s), integer(2, "for iterator", at)
  if at < 1 then
    at = 1
  else
    at = at + 1
    while is_continuation(s, at) do at = at + 1 end
  end
  if at > #s then return nil end
  local code, after = decode(s, at)
  if not code or is_continuation(s, after) then error("invalid UTF-8 code", 2) end
  return at, code
end
function utf8.codes(s) return step, text("codes", s), 0 end

function utf8.offset(s, n, i)
  s = text("offset", s)
  n = integer(2, "offset", n)
  local at = position(integer(3, "offset", i, n >= 0 and 1 or #s + 1), #s)
  if at < 1 or at > #s + 1 then error("bad argument #3 to 'offset' (position out of range)", 2) end
  if n == 0 then
    while at > 1 and is_continuation(s, at) do at = at - 1 end
    return at
  end
  if is_continuation(s, at) then error("initial position is a continuation byte", 2) end
  if n < 0 then
    while n < 0 and at > 1 do
      repeat at = at - 1 until at <= 1 or not is_continuation(s, at)
      n = n + 1
    end
  else
    n = n - 1
    while n > 0 and at <= #s do
      repeat at = at + 1 until not is_continuation(s, at)
      n = n - 1
    end
  end
  if n == 0 then return at end
  return nil
end

env.utf8 = utf8
