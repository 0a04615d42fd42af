-- As much of busted as the specs of the rocks use: describe, it, before_each, and assert with its chains of words.
local busted = { passed = 0, failed = {} }

local raise = error
local block = { name = "", before = {}, children = {} }

-- The body of a block runs when its turn comes, after the cases that stand before it: some specs rely on that.
function busted.describe(name, body)
  table.insert(block.children, { name = block.name .. name .. ": ", before = { unpack(block.before) }, children = {}, body = body })
end

function busted.before_each(fn) table.insert(block.before, fn) end

function busted.it(name, body) table.insert(block.children, { name = block.name .. name, case = body }) end

local function run_case(node, before)
  local ok, message = xpcall(function()
    for _, fn in ipairs(before) do fn() end
    node.case()
  end, debug.traceback)
  if ok then busted.passed = busted.passed + 1 else table.insert(busted.failed, node.name .. ": " .. tostring(message)) end
end

local function run_block(node)
  block = node
  if node.body then node.body() end
  for _, child in ipairs(node.children) do
    if child.case then run_case(child, node.before) else run_block(child) end
  end
end

-- Runs what was described since the last call.
function busted.run()
  local top = block
  run_block(top)
  block, top.children = top, {}
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do if not same(value, b[key]) then return false end end
  for key in pairs(b) do if a[key] == nil then return false end end
  return true
end

local function show(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local parts = {}
  for key, inner in pairs(value) do table.insert(parts, tostring(key) .. "=" .. show(inner)) end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

local checks = {
  equal = function(a, b) return a == b end,
  same = same,
  ["true"] = function(value) return value == true end,
  ["false"] = function(value) return value == false end,
  truthy = function(value) return not not value end,
  falsy = function(value) return not value end,
  ["nil"] = function(value) return value == nil end,
  error = function(fn, expected)
    local ok, message = pcall(fn)
    return not ok and (expected == nil or same(expected, message))
  end,
}
checks.equals = checks.equal
for _, name in ipairs { "table", "string", "number", "boolean", "function" } do
  checks[name] = function(value) return type(value) == name end
end

local filler = { is = true, are = true, has = true, was = true }
local function chain(negated)
  return setmetatable({}, {
    __call = function(_, value, message, ...)
      if not value then raise(message == nil and "assertion failed!" or message, 0) end
      return value, message, ...
    end,
    __index = function(_, key)
      local wanted, check = not negated, nil
      for word in key:gmatch("[^_]+") do
        if word == "not" or word == "no" then
          wanted = not wanted
        elseif not filler[word] then
          check = checks[word] or raise("the shim has no assert." .. key, 2)
        end
      end
      if not check then return chain(not wanted) end
      return function(...)
        if check(...) == wanted then return ... end
        local parts = {}
        for at = 1, select("#", ...) do parts[at] = show((select(at, ...))) end
        raise("assert." .. key .. "(" .. table.concat(parts, ", ") .. ")", 2)
      end
    end,
  })
end
busted.assert = chain(false)

return busted
