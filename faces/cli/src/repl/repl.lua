local app = require "sampan"
local repl = app.repl

-- The names of the app are there without being asked for. What is assigned is a global, as in the project's files.
local scope = {}
for name, value in pairs(app) do
  if name ~= "repl" then scope[name] = value end
end
scope.app = app
function scope.print(...)
  local texts = {}
  for at = 1, select("#", ...) do texts[at] = tostring((select(at, ...))) end
  repl.print(table.concat(texts, "\t"))
end
setmetatable(scope, {
  __index = _G,
  __newindex = function(_, name, value) _G[name] = value end,
})

local function compile(text)
  local value = load("return " .. text:gsub("^%s*=", ""), "=input", "t", scope)
  if value then return value end
  return load(text, "=input", "t", scope)
end

local function show(...)
  for at = 1, select("#", ...) do repl.show((select(at, ...))) end
end

local function run(text)
  local chunk, fault = compile(text)
  if not chunk then error((fault:gsub("^input:", "line ")), 0) end
  show(chunk())
end

local function names(path)
  local value = scope
  for name in path:gmatch("[%w_]+") do
    if type(value) ~= "table" then return {} end
    value = value[name]
  end
  local found = {}
  local function add(from)
    if type(from) ~= "table" then return end
    for name in pairs(from) do
      if type(name) == "string" and name:find("^[%a_][%w_]*$") then found[#found + 1] = name end
    end
  end
  add(value)
  if value == scope then add(_G) end
  return found
end

local function is_open(text)
  local chunk, fault = compile(text)
  return not chunk and fault:find("<eof>", 1, true) ~= nil
end

app.get("/.repl", function() end)
local answers = { names = names, is_open = is_open }
app.on_start(function()
  repl.serve(run, function(asked, text) return answers[asked](text) end)
end)
