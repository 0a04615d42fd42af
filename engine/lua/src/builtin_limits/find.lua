-- `string.find` for plain text. LuaJIT compiles calls of its own then, and a short text is found before it could hold the worker.
local raw_find, find = ...
local type = type
local TEXT_MAX, KNOWN_MAX = 64, 256

-- Patterns without special characters are plain text too. Scripts use few: `known` is true for them, and false for others.
local known, known_count = {}, 0
local function is_plain(pattern)
  local plain = raw_find(pattern, "[%^%$%*%+%?%.%(%)%[%]%-%%]") == nil
  if known_count < KNOWN_MAX then
    known_count = known_count + 1
    known[pattern] = plain
  end
  return plain
end

return function(...)
  local s, pattern, init, plain = ...
  if type(s) == "string" and type(pattern) == "string" and (init == nil or type(init) == "number") and #pattern <= TEXT_MAX then
    if not plain then
      plain = known[pattern]
      if plain == nil then plain = is_plain(pattern) end
    end
    if plain then return raw_find(s, pattern, init, true) end
  end
  return find(...)
end
