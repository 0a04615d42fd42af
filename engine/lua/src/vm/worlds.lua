-- Isolation per request: each request has a world of its own, in which the project's file and its modules run anew.
--
-- A world is what a script can write to: globals, the tables of the libraries, `package`, the module `sampan`. Each is a copy of one that no
-- script ever sees. Functions are shared: nothing can be written to them. Called once per isolate, behind the prelude; returns what the
-- engine calls.
--
-- The world of the request that runs is the first of `host.here`. As a list, a world holds the functions that its run of the file declared, at
-- 1 more than the number that the engine knows them by. At 0 is its table `string`, which methods of strings are looked up in. The engine
-- enters a world by setting both.
local G, host, base, prelude = ...

local error, type, next, load, rawset = G.error, G.type, G.next, G.load, G.rawset
local setmetatable, setfenv = G.setmetatable, G.setfenv
local gsub, sub = G.string.gsub, G.string.sub
local getmetatable, concat, format = G.debug.getmetatable, G.table.concat, G.string.format
local here = host.here

-- What no script may see, because requests share it ---------------------------------------------------------------------------

local Response = host.response_meta
local hidden = { [Response] = true, [prelude.response_headers_meta] = true, [host.fields[1]] = true }
for at = 1, #host.error_metas do hidden[host.error_metas[at]] = true end
local meta_of = base.getmetatable
function base.getmetatable(value)
  local meta = meta_of(value)
  if meta ~= nil and hidden[meta] then return nil end
  return meta
end
base.debug.getmetatable = base.getmetatable

-- Random numbers have one source. A request that has chosen the next ones must not choose those of others, so the engine puts them aside.
local seed, choose = base.math.randomseed, host.choose_random
function base.math.randomseed(...)
  choose()
  return seed(...)
end

-- The tables of a world ---------------------------------------------------------------------------------------------------------

-- Copies a table whose keys stay the same. A constructor with constants is copied as a whole by LuaJIT, and writing to keys that are there is
-- quick; so the function is made of the keys.
local copiers = {}
local function copier(from)
  local keys, fields = {}, {}
  for key in next, from do
    local place = type(key) == "number" and format("[%d]", key) or format("[%q]", key)
    keys[#keys + 1] = place .. "=0"
    fields[#fields + 1] = format("to%s=from%s", place, place)
  end
  local text = "local from = ... return function() local to, from = {%s}, from %s return to end"
  local copy = load(format(text, concat(keys, ","), concat(fields, " ")), "=[copy]", "t", {})(from)
  copiers[from] = copy
  return copy
end
local function clone(from)
  local copy = copiers[from] or copier(from)
  return copy()
end

local package, loaded, buffer = base.package, base.package.loaded, host.buffer

-- Libraries, and the tables in them.
local libraries, inner = {}, {}
for name, library in next, base do
  if type(library) == "table" and name ~= "_G" and name ~= "package" then
    libraries[#libraries + 1] = name
    for key, value in next, library do
      if type(value) == "table" then inner[#inner + 1] = { name, key, value } end
    end
  end
end

-- The metatables of the tables of the module `sampan`. At 1 is what tells them from those of scripts.
local module_meta = { host.mark, __metatable = false }

-- The module without its tables. Those come into a world when it asks for them.
local app, lazy = {}, {}
for name, value in next, prelude.app do
  if type(value) == "table" then lazy[name] = value else app[name] = value end
end
local function copy(from)
  local to, has_functions = clone(from), false
  for key, value in next, from do
    if type(value) == "table" then to[key] = copy(value) end
    has_functions = has_functions or type(value) == "function"
  end
  if not has_functions then return to end
  local meta = getmetatable(from) or module_meta
  meta[1], meta.__metatable = host.mark, false
  return setmetatable(to, meta)
end
local app_meta = { host.mark, __metatable = false }
function app_meta.__index(own, name)
  local from = lazy[name]
  if not from then return nil end
  local to = copy(from)
  rawset(own, name, to)
  return to
end
function app_meta.__pairs(own)
  for name in next, lazy do local _ = own[name] end
  return next, own, nil
end

-- These know a colon by the module itself, which scripts do not have here.
for _, name in G.ipairs { "html", "text", "redirect", "stream", "first" } do
  local fn = app[name]
  app[name] = function(value, second, third)
    if type(value) == "table" and getmetatable(value) == app_meta then
      error("app." .. name .. ": write app." .. name .. "(...) with a dot, not with a colon", 2)
    end
    return fn(value, second, third)
  end
end

local string_meta = getmetatable("")

local function new_world()
  local env, own_loaded, own_package = clone(base), clone(loaded), clone(package)
  for at = 1, #libraries do
    local name = libraries[at]
    local library = clone(base[name])
    env[name] = library
    own_loaded[name] = library
  end
  for at = 1, #inner do
    local place = inner[at]
    env[place[1]][place[2]] = clone(place[3])
  end
  env._G, env.package = env, own_package
  own_loaded._G, own_loaded.package, own_loaded["string.buffer"] = env, own_package, clone(buffer)
  own_loaded.sampan = setmetatable(clone(app), app_meta)
  local loaders = clone(package.loaders)
  own_package.loaded, own_package.preload = own_loaded, {}
  own_package.loaders, own_package.searchers = loaders, loaders
  local world = { env = env, package = own_package, loaded = own_loaded, loading = {}, declared = 0 }
  world[0] = env.string
  return world
end

-- Files: compiled once, run for each request --------------------------------------------------------------------------------------

-- A function that gives functions of the file, each with the globals that it has itself then. One function for all would change its globals
-- under a request that waits in it.
local function compile(file, text)
  local name = "@" .. file
  -- Alone first, so that the text cannot end the function around it.
  local ok, message = load(text, name, "t", base)
  if not ok then error(message, 0) end
  text = gsub(text, "^\239\187\191", "")
  -- As LuaJIT does it.
  if sub(text, 1, 1) == "#" then text = "--" .. text end
  local make, refused = load("return function(...) " .. text .. "\nend", name, "t", base)
  if not make then error(refused, 0) end
  return make
end

-- Compiled modules, by `package.path` and name. Scripts may set a path of their own each time.
local PATHS_MAX = 16
local modules, paths = {}, 0

local function search_files(name)
  local path = here[1].package.path
  local of_path = modules[path]
  local module = of_path and of_path[name]
  if not module then
    local file, text = host.find_module(name)
    if not file then return text end
    module = { make = compile(file, text), file = file }
    if not of_path and paths < PATHS_MAX then
      of_path, paths = {}, paths + 1
      modules[path] = of_path
    end
    if of_path then of_path[name] = module end
  end
  setfenv(module.make, here[1].env)
  return module.make(), module.file
end
package.loaders[2] = search_files

-- Declarations --------------------------------------------------------------------------------------------------------------------

-- What is declared at start, in its order; each with its place in a world, if a function belongs to it.
local declared, slots = prelude.declared, {}

local function differs(known, name, pattern)
  local expected = known and "app." .. known.kind .. " " .. known.written or "nothing more"
  error(name .. " " .. pattern .. ': the file declared ' .. expected .. ' here when it was loaded; with isolation = "request" it must '
    .. "declare the same for each request", 3)
end

-- The place of the next declaration, which must be this one.
local function take(name, kind, pattern)
  host.check_loading(name)
  local world = here[1]
  local at = world.declared + 1
  local known = declared[at]
  if not known or known.kind ~= kind or known.written ~= pattern then differs(known, name, G.tostring(pattern)) end
  world.declared = at
  return known, world
end

-- What takes the place of the functions that declare, once the project is loaded.
local again = {}
for _, verb in G.ipairs { "get", "post", "put", "patch", "delete", "options", "all" } do
  local name = "app." .. verb
  again[verb] = function(pattern, ...)
    local known, world = take(name, verb, pattern)
    local handler, second = ...
    if second ~= nil then handler = second end
    if type(handler) == "function" then
      world[known.slot] = handler
    else
      world[known.slot] = function() return handler end
    end
  end
end
function again.use(pattern, fn)
  if fn == nil then pattern, fn = "*", pattern end
  local known, world = take("app.use", "use", pattern)
  if not known.slot then return end
  if known.native then
    local _, asked = host.native_middleware(fn)
    fn = prelude.asking(known.native, asked)
  end
  world[known.slot] = fn
end
for kind in next, prelude.route_kinds do
  again[kind] = function(pattern, given)
    local known, world = take("app." .. kind, kind, pattern)
    world[known.slot] = prelude.route_handler(kind, known.item.pattern, given)
  end
end
for kind, feed in next, prelude.feeders do
  again[kind] = function(first, second, third)
    if type(first) == "function" then return feed(first, second) end
    local known, world = take("app." .. kind, kind, first)
    world[known.slot] = prelude.feeding_handler(kind, second, third)
  end
end
function again.group(pattern, fn)
  take("app.group", "group", pattern)
  fn(clone(again.in_group))
end
again.in_group = clone(again)
function again.host(name, fn)
  take("app.host", "host", name)
  fn(clone(again.in_group))
end
for name, around in next, prelude.answering_errors do
  again[name] = function(fn)
    host.check_loading("app." .. name)
    if slots[name] then here[1][slots[name]] = around(fn) end
  end
end

-- For the engine --------------------------------------------------------------------------------------------------------------------

local worlds, make_entry = { here = here, string_meta = string_meta }, nil

-- A new world, which runs from now on, and the project's file as a function in it.
function worlds.open()
  local world = new_world()
  here[1], string_meta.__index = world, world[0]
  setfenv(make_entry, world.env)
  return world, make_entry()
end

-- The same for the world in which the project is loaded.
function worlds.load(file, text)
  make_entry = compile(file, text)
  return worlds.open()
end

-- The project is loaded: the functions have got their numbers, routes first.
function worlds.finish()
  local program = prelude.program
  local function number(list, from)
    for at = 1, #list do list[at].slot = from + at end
    return from + #list
  end
  local count = number(program.middleware, number(program.routes, 0))
  for _, name in G.ipairs { "not_found", "on_error" } do
    if program[name] then
      count = count + 1
      slots[name] = count
    end
  end
  for at = 1, #declared do
    local known = declared[at]
    known.slot = known.item and known.item.slot
  end
  for name, fn in next, again do
    if name ~= "in_group" then app[name] = fn end
  end
end

return worlds
