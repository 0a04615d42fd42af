-- Marks every table that can be reached in any way, and tells those that were marked before.
local app = require 'sampan'
local walk = {}
function walk.all(roots)
  local seen, queue, marked, count = {}, {}, {}, 0
  local function add(value, path)
    local kind = type(value)
    if value ~= nil and kind ~= 'number' and kind ~= 'boolean' and not seen[value] then
      seen[value] = true
      queue[#queue + 1] = { value, path }
    end
  end
  for name, root in pairs(roots) do add(root, name) end
  while #queue > 0 do
    local value, path = unpack(table.remove(queue))
    add(getmetatable(value), path .. '<meta>')
    if type(value) == 'function' then
      add(getfenv(value), path .. '<env>')
    elseif type(value) == 'table' then
      count = count + 1
      if rawget(value, '__leak') then marked[#marked + 1] = path end
      for _, each in ipairs { pairs, function(t) return next, t end } do
        for key, member in each(value) do
          add(key, path .. '<key>')
          add(member, path .. '.' .. tostring(key))
        end
      end
      for _, name in ipairs { '__index', '__newindex', '__metatable', 'headers', 'value' } do
        local ok, member = pcall(function() return value[name] end)
        if ok then add(member, path .. '.' .. name) end
      end
      rawset(value, '__leak', true)
    end
  end
  return marked, count
end
return walk
