-- `app.nested`: the tables that names with brackets stand for. Called once by the prelude.
local G, host, app, no_colon = ...

local error, type, getmetatable, pairs = G.error, G.type, G.getmetatable, G.pairs

local NESTED_MAX = 8
-- The parts of a name such as `owner[pets][]`. Nothing for one that has none, or that is written in another way.
local function name_parts(name)
  local base, rest = name:match("^([^%[%]]+)(%[.*%])$")
  if not base then return nil end
  local parts, at = { base }, 1
  while at <= #rest do
    local part, after = rest:match("^%[([^%[%]]*)%]()", at)
    if not part or part == "" and after <= #rest or #parts == NESTED_MAX then return nil end
    parts[#parts + 1], at = part, after
  end
  return parts
end

-- What names with brackets mean: `owner[name]` is the field `name` of the table `owner`, `pets[]` an item of the list `pets`.
function app.nested(fields)
  if fields == app then no_colon("app.nested") end
  host.check("app.nested", "map", "fields", fields)
  -- The tables that are made here: true for a list.
  local out, lists = {}, {}
  lists[out] = false
  local function twice(name) error({ status = 400, message = name .. " has another value beside it" }, 0) end
  for name, value in pairs(fields) do
    local parts = name_parts(name) or { name }
    local last, into = parts[#parts], out
    for at = 1, #parts - 1 do
      local known = into[parts[at]]
      if known ~= nil and lists[known] == nil then twice(name) end
      if known == nil then
        known = {}
        lists[known] = last == "" and at == #parts - 1
        into[parts[at]] = known
      end
      into = known
    end
    local is_item = last == "" and #parts > 1
    if lists[into] ~= is_item then twice(name) end
    if not is_item then
      if into[last] ~= nil then twice(name) end
      into[last] = value
    elseif type(value) == "table" and getmetatable(value) == nil then
      for at = 1, #value do into[#into + 1] = value[at] end
    else
      into[#into + 1] = value
    end
  end
  return out
end
