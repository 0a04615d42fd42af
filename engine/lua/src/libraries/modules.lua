-- `require` and `package`: modules of the project, and libraries from LuaRocks that are unpacked into it.
--
-- As in Lua 5.1, with three differences. Only files of the project are read. A module that failed can be required again. A loader is given
-- the name of its file as second argument, as in Lua 5.2.
local G, host, env = ...

local error, type, tostring, ipairs, load, xpcall = G.error, G.type, G.tostring, G.ipairs, G.load, G.xpcall
local find, gmatch, gsub, sub = G.string.find, G.string.gmatch, G.string.gsub, G.string.sub
local concat = G.table.concat

local PATH = "?.lua;?/init.lua;lib/?.lua;lib/?/init.lua;lua_modules/share/lua/5.1/?.lua;lua_modules/share/lua/5.1/?/init.lua"

local loaded = {}
local package = {
  loaded = loaded, preload = {}, path = PATH, cpath = "", config = "/\n;\n?\n!\n-\n",
}
-- What the script at hand has: always the same, unless each request has its own (`worlds.lua`). `loading` are the modules whose files run
-- now, outermost first.
local here = host.here
here[1].package, here[1].loaded, here[1].loading = package, loaded, {}

-- The same path without `.` and empty parts; nil if it leads out of the project or cannot name a file.
local function inside(path)
  if path == "" or sub(path, 1, 1) == "/" or find(path, "\0", 1, true) then return nil end
  local parts = {}
  for part in gmatch(path, "[^/]+") do
    if part == ".." then return nil end
    if part ~= "." then parts[#parts + 1] = part end
  end
  return concat(parts, "/")
end

-- The first file of the templates in `path` that exists and its text; or nil and the files that were looked for.
local function find_file(name, path)
  local tried = {}
  for template in gmatch(path, "[^;]+") do
    local candidate = gsub(template, "%?", function() return name end)
    local file = inside(candidate)
    local text = file and host.read(file)
    if text then return file, text end
    tried[#tried + 1] = "\n\tno file '" .. candidate .. (file and "'" or "' (outside of the project)")
  end
  return nil, concat(tried)
end

local function with_separators(name, from, to)
  if from == "" then return name end
  local parts, start = {}, 1
  while true do
    local first, last = find(name, from, start, true)
    parts[#parts + 1] = sub(name, start, first and first - 1)
    if not first then return concat(parts, to) end
    start = last + 1
  end
end

function package.searchpath(name, path, from, to)
  if type(name) ~= "string" then error("package.searchpath: the name must be a string", 2) end
  if type(path) ~= "string" then error("package.searchpath: the path must be a string", 2) end
  local file, tried = find_file(with_separators(name, from or ".", to or "/"), path)
  if file then return file end
  return nil, tried
end

local function search_preload(name)
  local preload = here[1].package.preload
  if type(preload) ~= "table" then error("package.preload must be a table", 0) end
  local loader = preload[name]
  if loader ~= nil then return loader end
  return "\n\tno field package.preload['" .. name .. "']"
end

-- The file of a module and its text; or nil and the files that were looked for.
function host.find_module(name)
  local path = here[1].package.path
  if type(path) ~= "string" then error("package.path must be a string", 0) end
  return find_file(with_separators(name, ".", "/"), path)
end

local function search_files(name)
  local file, text = host.find_module(name)
  if not file then return text end
  local chunk, message = load(text, "@" .. file, "t", env)
  if not chunk then error(message, 0) end
  return chunk, file
end

-- Modules of LuaJIT that would reach the memory of the process.
local refused = { ffi = true, jit = true, ["jit.opt"] = true, ["jit.profile"] = true, ["jit.util"] = true }
local function search_nothing_else(name)
  if refused[name] then
    error("require: '" .. name .. "' is not in the sandbox; what a script may call is in require \"sampan\"", 0)
  end
  return "\n\tno C library '" .. name .. "': the sandbox loads Lua files only"
end

package.loaders = { search_preload, search_files, search_nothing_else }
package.searchers = package.loaders

local function find_loader(name)
  local loaders = here[1].package.loaders
  if type(loaders) ~= "table" then error("package.loaders must be a table", 3) end
  local tried = {}
  for _, searcher in ipairs(loaders) do
    local loader, extra = searcher(name)
    if type(loader) == "function" then return loader, extra end
    if type(loader) == "string" then tried[#tried + 1] = loader end
  end
  error("module '" .. name .. "' not found:" .. concat(tried), 3)
end

local function index_of(loading, name)
  for at, other in ipairs(loading) do
    if other == name then return at end
  end
end

function env.require(name)
  if type(name) == "number" then name = tostring(name) end
  if type(name) ~= "string" then error("require: the name must be a string, not a " .. type(name), 2) end
  local world = here[1]
  local loaded, loading = world.loaded, world.loading
  if loaded[name] then return loaded[name] end
  local outer = index_of(loading, name)
  if outer then
    error("require: '" .. name .. "' requires itself: " .. concat(loading, " > ", outer) .. " > " .. name, 2)
  end
  local loader, extra = find_loader(name)
  loading[#loading + 1] = name
  -- Where an error was raised is noted, because the stack is gone when it is passed on.
  local ok, result = xpcall(loader, host.note_raised, name, extra)
  G.table.remove(loading, index_of(loading, name))
  if not ok then error(result, 0) end
  if result ~= nil then loaded[name] = result end
  if loaded[name] == nil then loaded[name] = true end
  return loaded[name]
end

function package.loadlib() error("package.loadlib is not in the sandbox; it loads Lua files only", 2) end

env.package = package
for name in gmatch("string table math bit coroutine os io debug utf8 package", "%w+") do loaded[name] = env[name] end
loaded._G = env
for _, name in ipairs { "new", "clear", "clone", "isarray", "isempty", "nkeys" } do
  loaded["table." .. name] = env.table[name]
end
loaded["string.buffer"] = host.buffer
