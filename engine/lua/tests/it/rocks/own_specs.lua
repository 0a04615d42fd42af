-- Runs specs that use luassert, as busted does: blocks, cases, functions before and after them, and a snapshot of
-- luassert's state around each case.
local assert = require "luassert"
local runner = { passed = 0, failed = {} }

local root = { name = "", before = {}, after = {}, setup = {}, teardown = {}, cases = {} }
local block = root
local finally

local function open(name, body)
  local inner = { name = block.name .. name .. ": ", up = block, body = body }
  inner.before, inner.after, inner.setup, inner.teardown = {}, {}, {}, {}
  table.insert(block.cases, inner)
end

local function case(name, body) table.insert(block.cases, { name = block.name .. name, case = body }) end

local function each(key, from_the_top)
  local found, at = {}, block
  while at do
    for index, fn in ipairs(at[key]) do table.insert(found, from_the_top and index or #found + 1, fn) end
    at = at.up
  end
  return found
end

local function run_case(node)
  local snapshot = assert:snapshot()
  finally = nil
  local ok, message = xpcall(function()
    for _, fn in ipairs(each("before", true)) do fn() end
    node.case()
  end, function(fault)
    local told = type(fault) == "table" and (fault.message or fault[1]) or fault
    return tostring(told) .. "\n" .. debug.traceback()
  end)
  if finally then pcall(finally) end
  for _, fn in ipairs(each("after")) do pcall(fn) end
  snapshot:revert()
  if ok then runner.passed = runner.passed + 1 else table.insert(runner.failed, node.name .. ": " .. message) end
end

local function run_block(node)
  local outer = block
  block, node.cases = node, node.cases or {}
  if node.body then
    local ok, message = pcall(node.body)
    if not ok then table.insert(runner.failed, node.name .. "(the block): " .. tostring(message)) end
  end
  for _, fn in ipairs(node.setup) do fn() end
  for _, child in ipairs(node.cases) do
    if child.case then run_case(child) else run_block(child) end
  end
  for _, fn in ipairs(node.teardown) do fn() end
  block = outer
end

-- Runs one file of specs.
function runner.run(load)
  root.cases = {}
  root.body = load
  run_block(root)
  root.before, root.after, root.setup, root.teardown = {}, {}, {}, {}
end

-- Gives specs the words of busted.
function runner.install(env)
  env.assert = assert
  for _, name in ipairs { "spy", "mock", "stub", "match" } do env[name] = require("luassert." .. name) end
  env.describe, env.context, env.insulate, env.expose = open, open, open, open
  env.it, env.spec, env.test = case, case, case
  env.pending = function() end
  env.before_each = function(fn) table.insert(block.before, fn) end
  env.after_each = function(fn) table.insert(block.after, fn) end
  env.setup = function(fn) table.insert(block.setup, fn) end
  env.teardown = function(fn) table.insert(block.teardown, fn) end
  env.finally = function(fn) finally = fn end
  env.assert_equal, env.assert_error, env.assert_not_error = assert.equal, assert.error, assert.no.error
  -- Measures coverage.
  package.preload.luacov = function() return true end
end

return runner
