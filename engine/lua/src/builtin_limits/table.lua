-- Two functions of LuaJIT's `table` that could loop in C for long, out of the reach of hooks.
local table = ...
local error, raw_get, select, tonumber, type = error, rawget, select, tonumber, type
local raw_insert, raw_sort = table.insert, table.sort

-- LuaJIT's own moves up everything from the position on, also what is not there. What is no 32-bit integer becomes the lowest one.
function table.insert(list, ...)
  if select("#", ...) == 2 then
    local position = ...
    if type(position) ~= "number" then position = tonumber(position) end
    if position and not (position >= 1 and position < 2^31) then
      error("table.insert: position out of bounds", 2)
    end
  end
  return raw_insert(list, ...)
end

-- Long lists, and those with long texts, are compared in Lua, where the script can be stopped.
local function less(a, b) return a < b end
local function is_slow(list)
  local first, count = type(list[1]), #list
  if first == "number" then return count > 100000 end
  if count > 1000 then return true end
  if first == "string" then
    for i = 1, count do
      local text = raw_get(list, i)
      if type(text) == "string" and #text > 1024 then return true end
    end
  end
  return false
end
function table.sort(list, before)
  if before == nil and type(list) == "table" and is_slow(list) then before = less end
  return raw_sort(list, before)
end
