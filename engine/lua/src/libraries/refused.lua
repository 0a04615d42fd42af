-- What the sandbox leaves out says so when it is called, and names what to use instead.
--
-- Libraries look whether a function is there before they have any use for it, so looking raises nothing: `local open = io.open` is fine.
-- What a library asks for to choose another way is nil (`jit`, `ffi`, `newproxy`).
local G, _, env = ...

local error = G.error

local function refuse(name, instead)
  return function() error(name .. " is not in the sandbox; " .. instead, 2) end
end

local function refuse_all(into, prefix, names)
  for name, instead in G.pairs(names) do into[name] = refuse(prefix .. name, instead) end
  return into
end

local FILES = "use app.files, or keep data in the database"
local OUTPUT = "use print or app.log.info"
local INSIDE = "it would reach into the server's own code"

refuse_all(env, "", {
  dofile = "use require",
  loadfile = "use require",
  module = "return a table at the end of the file",
})

refuse_all(env.os, "os.", {
  getenv = "use app.env.get",
  execute = "a script starts no programs",
  exit = "a script does not end the server; raise an error with error()",
  remove = FILES,
  rename = FILES,
  tmpname = FILES,
  setlocale = "the locale is that of the whole server",
})

env.io = refuse_all({}, "io.", {
  open = FILES,
  lines = FILES,
  tmpfile = FILES,
  input = FILES,
  output = OUTPUT,
  close = FILES,
  popen = "a script starts no programs",
  read = "the server has no standard input; a request's body is req.body",
  write = OUTPUT,
})
-- Nothing that a script has is a file.
function env.io.type() return nil end

local function stream(name, instead)
  local methods = refuse_all({}, name .. ":", { write = instead, read = instead, lines = instead, seek = instead, close = instead })
  function methods.flush(file) return file end
  function methods.setvbuf() return true end
  return methods
end
env.io.stdout = stream("io.stdout", OUTPUT)
env.io.stderr = stream("io.stderr", "use app.log.warn or app.log.error")
env.io.stdin = stream("io.stdin", "a request's body is req.body")

refuse_all(env.debug, "debug.", {
  debug = "use print or app.log.debug",
  getfenv = "use getfenv",
  getlocal = INSIDE,
  getregistry = INSIDE,
  getupvalue = INSIDE,
  getuservalue = INSIDE,
  setfenv = "use setfenv",
  sethook = "the server uses the hook to stop scripts",
  setlocal = INSIDE,
  setupvalue = INSIDE,
  setuservalue = INSIDE,
  upvalueid = INSIDE,
  upvaluejoin = INSIDE,
})

-- What Lua answers where the hook is not a function of Lua: the server stops scripts with it.
function env.debug.gethook() return "external hook" end

env.string.dump = refuse("string.dump", "bytecode cannot be loaded; keep the source")
