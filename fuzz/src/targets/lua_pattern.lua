-- Calls a search of LuaJIT's and the same of the engine's, and returns how they differ, "" if they do not.
local raw, ours = ...
local pcall, select, type, tostring, setmetatable = pcall, select, type, tostring, setmetatable
local format, concat = raw.format, table.concat

local function pack(...) return { n = select("#", ...), ... } end

-- The place in an error is that of the caller, the name that of the variable or the method.
local styles = {
  [0] = function(f, ...) return pack(pcall(function(...) local r = pack(f(...)) return unpack(r, 1, r.n) end, ...)) end,
  function(f, ...) return pack(pcall(f, ...)) end,
  function(f, ...) return pack(pcall(function(...) return f(...) end, ...)) end,
  function(f, s, ...)
    local meta = { __index = { search = f } }
    if type(s) == "string" then
      return pack(pcall(function(...) local r = pack(f(s, ...)) return unpack(r, 1, r.n) end, ...))
    end
    local object = setmetatable({}, meta)
    return pack(pcall(function(...) local r = pack(object:search(...)) return unpack(r, 1, r.n) end, ...))
  end,
}

local function iterate(gmatch, ...)
  local all = { n = 0 }
  local function add(...)
    for i = 1, select("#", ...) do all[all.n + i] = (select(i, ...)) end
    all.n = all.n + select("#", ...) + 1
    all[all.n] = "|"
    return (...)
  end
  local next_match = gmatch(...)
  for _ = 1, 40 do
    if add(next_match()) == nil then break end
  end
  return unpack(all, 1, all.n)
end

-- What a replacement is made from; `seen` notes the arguments of its calls.
local makers = {
  ["function"] = function(value, seen)
    return function(...)
      for i = 1, select("#", ...) do seen[#seen + 1] = tostring((select(i, ...))) end
      return value
    end
  end,
  first = function() return function(a, b) if type(a) == "string" and #a == 0 then return b end return a end end,
  table = function(value) return { a = value, b = false, ab = "AB", [1] = "one", [""] = 7 } end,
  index = function(value, seen)
    return setmetatable({}, { __index = function(_, key)
      seen[#seen + 1] = tostring(key)
      return value
    end })
  end,
  raises = function(value) return function() error(value, 0) end end,
  self = function() return function() return {} end end,
}

local function show(result)
  local out = {}
  for i = 1, result.n do out[i] = type(result[i]) .. " " .. format("%q", tostring(result[i])) end
  return concat(out, ", ")
end

local function attempt(library, name, style, kind, ...)
  local f, seen = library[name], {}
  local count, a, b, c, d = select("#", ...), ...
  if name == "gsub" and makers[kind] and count >= 3 then c = makers[kind](c, seen) end
  if name == "gmatch" and style == 1 then
    local gmatch = f
    f = function(...) return iterate(gmatch, ...) end
  end
  local result
  if count >= 4 then result = styles[style](f, a, b, c, d)
  elseif count == 3 then result = styles[style](f, a, b, c)
  elseif count == 2 then result = styles[style](f, a, b)
  elseif count == 1 then result = styles[style](f, a)
  else result = styles[style](f) end
  if name == "gmatch" and result[1] and style ~= 1 then result = pack(pcall(iterate, function() return result[2] end)) end
  return show(result) .. " seen " .. concat(seen, ",")
end

return function(...)
  local theirs = attempt(raw, ...)
  local mine = attempt(ours, ...)
  if theirs == mine then return "" end
  return "LuaJIT: " .. theirs .. "\nours: " .. mine
end
