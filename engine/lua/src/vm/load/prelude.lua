-- The `sampan` module: routes, groups, middleware and responses.
-- Called once per isolate with LuaJIT's own globals, the host's table, the new globals of the scripts, and what makes the chain,
-- `app.fetch`, `app.nested` and `app.gather`. Returns what the engine keeps: the declarations, the chain that runs middleware, the stream starter.
local G, host, env, make_chain, make_fetch, make_nested, make_gather = ...

local error, type, select, setmetatable, getmetatable = G.error, G.type, G.select, G.setmetatable, G.getmetatable
local pairs, ipairs, tostring, unpack, pcall = G.pairs, G.ipairs, G.tostring, G.unpack, G.pcall
local getinfo, setupvalue, rawget = G.debug.getinfo, G.debug.setupvalue, G.rawget
local sort = G.table.sort

local app = { null = host.null, runtime = "lua", version = host.version, worker = host.worker }
local program = { routes = {}, middleware = {}, guards = {} }

-- Where each request has globals of its own, its run of the file declares the same again: all declarations, in their order.
local declared = host.is_isolated and {} or nil
local function note(kind, written, item, native)
  if declared then declared[#declared + 1] = { kind = kind, written = written, item = item, native = native } end
end

-- Where the script called the function that calls this.
local function place()
  for level = 3, 20 do
    local info = getinfo(level, "Sl")
    if not info then return nil end
    if info.source:sub(1, 1) == "@" then return info.source:sub(2), info.currentline end
  end
end

-- What is said where a colon passes the table of a function as its first argument.
local function no_colon(name, level)
  error(name .. ": write " .. name .. "(...) with a dot, not with a colon", (level or 2) + 1)
end

-- Refuses arguments behind those that a declaration takes, which would never run. The script calls the caller.
local ONE_FUNCTION = "it takes one function: call it again for each further one"
local ONE_HANDLER = "it takes one handler: declare what runs before it with app.use"
local function refuse_more(name, text, ...)
  for at = 1, select("#", ...) do
    if select(at, ...) ~= nil then error(name .. ": " .. text, 3) end
  end
end
-- A function of a group or a host without parameters can declare nothing of it.
local function takes_none(fn) local of = getinfo(fn, "u") return of.nparams == 0 and not of.isvararg end
local NO_PARAMETER = ": its function declares by its parameter: function(site) site.get(...) end"
-- Middleware in the place of options or of a handler would never run.
local function refuse_middleware(name, ...)
  for at = 1, select("#", ...) do
    if host.native_middleware((select(at, ...))) then error(name .. ": " .. ONE_HANDLER, 3) end
  end
end

-- Responses -------------------------------------------------------------------------------------------------------------

local Response = host.response_meta

-- Field names are kept in lower case, so that a header is found and replaced whatever the case.
local headers_meta = {
  __index = function(headers, name)
    if type(name) == "string" then return G.rawget(headers, name:lower()) end
  end,
  __newindex = function(headers, name, value)
    if type(name) == "string" then name = name:lower() end
    G.rawset(headers, name, value)
  end,
}
local function new_headers() return setmetatable({}, headers_meta) end

-- A status that was not given stays nil: it is 200, or what the default of an error handler is.
local function check_options(name, options)
  if options == nil then return nil, new_headers() end
  if type(options) == "number" then
    host.check_status(name, options)
    return options, new_headers()
  end
  host.check(name, "options", "options", options)
  for key in pairs(options) do
    if key ~= "status" and key ~= "headers" then
      host.unknown_option(name, tostring(key), "status", "headers")
    end
  end
  if options.status ~= nil then host.check_status(name, options.status) end
  if options.headers ~= nil then host.check(name, "map", "headers", options.headers) end
  local headers = new_headers()
  for key, value in pairs(options.headers or {}) do host.check_header(name, key, value) headers[key] = value end
  return options.status, headers
end

-- Refuses a third argument of a builder: `app.html(text, 200, { headers = ... })` would lose the header fields.
local function refuse_third(name, third, level)
  if third == nil then return end
  error(name .. ": it has two arguments: write status and headers as { status = 201, headers = { ... } }", level + 1)
end

local function builder(kind)
  return function(body, options, third)
    if body == app then no_colon("app." .. kind) end
    refuse_third("app." .. kind, third, 2)
    local status, headers = check_options("app." .. kind, options)
    if kind ~= "json" and type(body) ~= "string" then host.check("app." .. kind, "string", "body", body) end
    return setmetatable({ status = status, headers = headers, body = body, kind = kind }, Response)
  end
end

app.html, app.text = builder("html"), builder("text")
local json_response = builder("json")

function app.redirect(location, status)
  if location == app then no_colon("app.redirect") end
  host.check("app.redirect", "string", "location", location)
  status = status or 302
  host.check_redirect("app.redirect", status)
  local headers = new_headers()
  headers.location = host.location("app.redirect", location)
  return setmetatable({ status = status, headers = headers, kind = "empty" }, Response)
end

function app.stream(fn, options)
  if fn == app then no_colon("app.stream") end
  host.check("app.stream", "function", "first argument", fn)
  local status, headers = check_options("app.stream", options)
  return setmetatable({ status = status, headers = headers, body = fn, kind = "stream" }, Response)
end

-- The server puts the bytes of the file in. Whoever sets a body replaces it.
local function file_response(path, content_type, status, headers)
  headers = headers or new_headers()
  if headers["content-type"] == nil then headers["content-type"] = content_type end
  return setmetatable({ status = status or 200, headers = headers, kind = "file", file = path }, Response)
end

local types = host.types

-- What a handler returned, as a response whose status and content type can be seen.
local function to_response(value, status)
  if type(value) == "table" and getmetatable(value) == Response then
    value.status = value.status or status or 200
    local headers = value.headers
    if type(headers) == "table" and headers["content-type"] == nil then headers["content-type"] = types[value.kind] end
    return value
  end
  local found = type(value)
  if found == "function" or found == "thread" or found == "userdata" and value ~= host.null then host.no_answer(value) end
  local kind = type(value) == "string" and "text" or value == nil and "empty" or "json"
  local headers = new_headers()
  headers["content-type"] = types[kind]
  status = status or value == nil and host.status_of_nothing or 200
  return setmetatable({ status = status, headers = headers, body = value, kind = kind }, Response)
end
-- An answer has no place for a second value. Numbers that are not a status are dropped, as without middleware.
local function answer_of(status, value, beside)
  if beside ~= nil then host.check_beside(beside) end
  return to_response(value, status)
end

-- Capabilities ------------------------------------------------------------------------------------------------------------

-- An asynchronous row suspends the coroutine; what comes back is whether it succeeded, then the value or the error.
local function settled(ok, value)
  if ok then return value end
  error(value, 0)
end
local function asynchronous(begin)
  return function(...) return settled(begin(...)) end
end

-- A prompt row gives nothing and its value, or, if it had to wait, the same as an asynchronous one. So does the `enter` of a bracket.
local function done(ok, value)
  if ok == false then error(value, 0) end
  return value
end
local function prompt(call)
  return function(...) return done(call(...)) end
end

-- A bracket row: `enter`, the function, `leave` whatever happened. Where an error was raised is noted, because the stack
-- is gone when it is passed on.
local xpcall, note_raised = G.xpcall, host.note_raised
local function close(leave, token, ok, ...)
  leave(token, ok)
  if ok then return ... end
  error((...), 0)
end
local function function_of(row, ...)
  if (...) == row.module then no_colon(row.title, 3) end
  local fn
  -- Optional parameters in front of the function may be left out.
  for at = row.fewest + 1, row.count + 1 do
    fn = select(at, ...)
    if type(fn) == "function" then
      -- Options behind the function would be lost without a word.
      for behind = at + 1, select("#", ...) do
        if select(behind, ...) ~= nil then error(row.title .. ": the function must be the last argument", 3) end
      end
      return fn
    end
  end
  -- Where each request has a module of its own, it is known by its metatable.
  local meta = G.debug.getmetatable((...))
  if type(meta) == "table" and rawget(meta, 1) == host.mark then no_colon(row.title, 3) end
  local found = fn == nil and "nil" or "a " .. type(fn)
  error(row.title .. ": argument " .. row.nth .. " must be a function, not " .. found, 3)
end
local function bracket(row)
  local enter, open, leave = row.call, row.open, row.leave
  return function(...)
    local fn = function_of(row, ...)
    local waited, token = enter(...)
    if waited ~= nil then
      done(waited, token)
      open()
    end
    return close(leave, token, xpcall(fn, note_raised, token))
  end
end

-- The same where `leave` may have to wait.
local function close_waiting(leave, token, ok, ...)
  done(leave(token, ok))
  if ok then return ... end
  error((...), 0)
end
local function waiting_bracket(row)
  local enter, leave = row.call, row.leave
  return function(...)
    local fn = function_of(row, ...)
    local _, token = enter(...)
    return close_waiting(leave, token, xpcall(fn, note_raised, token))
  end
end

-- The same around a function that waits. Others run while `leave` waits, so the note of where the error was raised is kept here.
local take_raised, give_raised = host.take_raised, host.give_raised
local function give_up(leave, token, err, file, line, stack)
  settled(leave(token, false))
  if stack then give_raised(err, file, line, stack) end
  error(err, 0)
end
local function close_later(leave, token, ok, ...)
  if not ok then return give_up(leave, token, (...), take_raised((...))) end
  settled(leave(token, true))
  return ...
end
local function async_bracket(row)
  local enter, leave = row.call, row.leave
  return function(...)
    local fn = function_of(row, ...)
    local token = settled(enter(...))
    return close_later(leave, token, xpcall(fn, note_raised, token))
  end
end

-- A value that is there, or that the function makes. Where it is there, nothing is to be filled.
local function close_fill(leave, filling, ok, ...)
  if not ok then return give_up(leave, filling, (...), take_raised((...))) end
  return settled(leave(filling, true, (...)))
end
local function fill(row)
  local enter, leave = row.call, row.leave
  return function(...)
    local fn = function_of(row, ...)
    local entered = settled(enter(...))
    local filling = entered.filling
    if filling == nil then return entered.value end
    return close_fill(leave, filling, xpcall(fn, note_raised))
  end
end

-- A row whose arguments are only shown takes any value. A table that says itself what it is as text is that text; what it throws
-- then is not the caller's. An error with a stack keeps it.
local function text_of(value)
  local meta = getmetatable(value)
  if meta == nil or type(meta) == "table" and rawget(meta, "__tostring") == nil then return value end
  local ok, text = pcall(tostring, value)
  if not ok or type(text) ~= "string" then return "[table: its __tostring failed]" end
  -- Without one of its own it is only an address.
  if type(meta) ~= "table" and text:find("^table: 0x") then return value end
  local stack = rawget(value, "stack")
  if type(stack) == "string" then return { error = text, stack = stack } end
  return text
end
local function shown(value)
  if type(value) ~= "table" then return value end
  local whole = text_of(value)
  if whole ~= value then return whole end
  local copy
  for key, member in G.next, value do
    if type(member) == "table" then
      local text = text_of(member)
      if text ~= member then
        if not copy then
          copy = {}
          for name, other in G.next, value do copy[name] = other end
        end
        copy[key] = text
      end
    end
  end
  return copy or value
end
local function shows(call, module, name)
  return function(first, second)
    if first == module then no_colon(name) end
    return call(shown(first), shown(second))
  end
end

-- A row that gives an answer returns its body and its content type, or the path of a file, its content type and its disposition or
-- false. Behind its own arguments are the options of a builder.
local function answering(row)
  local call, name, nth, module = row.call, row.title, row.count + 1, row.module
  local html = types.html
  return function(...)
    if (...) == module then no_colon(name) end
    local status, headers = check_options(name, (select(nth, ...)))
    local body, content_type, disposition = call(...)
    if disposition ~= nil then
      if disposition and headers["content-disposition"] == nil then headers["content-disposition"] = disposition end
      return file_response(body, content_type, status, headers)
    end
    local kind = "text"
    if content_type == html then
      kind = "html"
    elseif headers["content-type"] == nil then
      headers["content-type"] = content_type
    end
    return setmetatable({ status = status, headers = headers, body = body, kind = kind }, Response)
  end
end

local binders = { bracket = bracket, waiting_bracket = waiting_bracket, async_bracket = async_bracket, fill = fill }
function binders.async(row) return asynchronous(row.call) end
function binders.prompt(row) return prompt(row.call) end
function binders.sync(row, module)
  if row.answers then return answering(row) end
  if row.shown and row.mark == "." then return shows(row.call, module, row.title) end
  return row.call
end
-- The names of the functions of the module itself.
local own_functions = {}
local function bind(row, into)
  row.title = row.owner .. row.mark .. row.name
  row.module = into
  -- By this the row knows that it was called with a colon.
  for _, call in ipairs({ row.call, row.open, row.leave }) do setupvalue(call, 3, into) end
  local fn = binders[row.kind](row, into)
  into[row.name] = fn
  if into == app then own_functions[fn] = row.title end
end
-- Methods of requests are found where their fields are.
-- Functions of such modules declare routes.
local route_kinds = {}
-- Functions of such modules make answers that a function of the script feeds.
local stream_kinds = {}
-- Functions of such a module send requests to other servers.
local http_client = {}
local owners = {
  app = app, req = host.fields, route_kinds = route_kinds, stream_kinds = stream_kinds, http_client = http_client,
}
for _, row in ipairs(host.rows) do
  -- The functions of the module `app` are its own.
  local into = owners[row.owner] or app[row.owner] or {}
  if not owners[row.owner] then app[row.owner] = into end
  bind(row, into)
end

-- Native objects: the methods of their classes.
for _, class in ipairs(host.classes) do
  local methods, name = {}, class.name
  for _, row in ipairs(class.rows) do bind(row, methods) end
  class.meta.__index, class.meta.__metatable, class.meta.__name = methods, false, name
  class.meta.__tostring = function() return name end
  if class.is_keyed then
    local get, keys = methods.get, methods.keys
    class.meta.__newindex = methods.set
    class.meta.__index = function(object, key)
      local method = methods[key]
      if method ~= nil then return method end
      return get(object, key)
    end
    class.meta.__pairs = function(object)
      local names, at = keys(object), 0
      return function()
        at = at + 1
        local key = names[at]
        if key ~= nil then return key, get(object, key) end
      end
    end
  end
end

if http_client.send then
  app.fetch, Response.__index = make_fetch(G, host, http_client, app, Response, new_headers, no_colon)
end

app.json = app.json or {}
-- What is a list or a map already, such as rows and a row, stays as it is: its metatable is the server's own.
local function is_own(value) return type(value) == "table" and getmetatable(value) == false end
app.json.array = function(list)
  if list == app.json then no_colon("app.json.array") end
  if is_own(list) and (list[1] ~= nil or G.next(list) == nil) then return list end
  return setmetatable(list or {}, host.array_meta)
end
app.json.object = function(map)
  if map == app.json then no_colon("app.json.object") end
  if is_own(map) and map[1] == nil and G.next(map) ~= nil then return map end
  return setmetatable(map or {}, host.object_meta)
end
setmetatable(app.json, { __call = function(_, body, options, third)
  return json_response(body, options, third)
end })

make_nested(G, host, app, no_colon)
make_gather(G, host, app, no_colon)

-- The first value under a name of a query or form: names that come twice have a list.
function app.first(value)
  if value == app then no_colon("app.first") end
  if type(value) == "table" then return value[1] end
  return value
end

-- Routes ------------------------------------------------------------------------------------------------------------------

local verbs = { get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE", options = "OPTIONS", all = false }

local function check_pattern(into, name, pattern)
  if pattern == into then no_colon("app." .. name, 3) end
  host.check("app." .. name, "string", "pattern", pattern)
  host.check_pattern("app." .. name, pattern)
end

-- The prefix of a host has no path before that of a group is behind it.
local function join(prefix, pattern)
  if pattern == "/" and prefix:find("/", 1, true) then return prefix end
  return prefix .. pattern
end

-- A native object that asks a function of the script, as middleware. The function may wait.
local function asking(native, asked)
  return function(req, next)
    if host.decide(native, req, asked(host.ask(native, req))) then return nil end
    return next(req)
  end
end

local scope

-- The options of routes, with their types. A size is checked where the routes are arranged, for both languages.
local route_options = {
  body_bytes_max = "size", compress = "boolean", etag = "boolean", name = "string", priority = "string", slow = "boolean",
  stream = "boolean",
}
-- Whether a value is nothing but options: then its handler was forgotten.
local function is_options(value)
  if type(value) ~= "table" or G.next(value) == nil then return false end
  for key in G.next, value do
    if not route_options[key] then return false end
  end
  return true
end

-- Has an answer keep the fields that the script has set on a request, as far as JSON has their values.
local function keep_fields(keep, req)
  for name, value in G.next, req do
    if type(name) == "string" and not host.keyed[name] then pcall(keep, req, name, value) end
  end
end

-- The handler of a route that a module answers: functions of the declaration are for events, the rest are options.
local function route_handler(kind, pattern, given)
  local options, functions, events = {}, {}, {}
  for key, value in pairs(given) do
    if type(value) ~= "function" then
      options[key] = value
    else
      functions[key] = value
      if key ~= "upgrade" then events[#events + 1] = key end
    end
  end
  -- Where each request has a run of the file, functions are known by their order.
  sort(events)
  local route = route_kinds[kind](pattern, options)
  for _, event in ipairs(events) do route:on(event, functions[event]) end
  local answer, keep, upgrade = host.fields["answer_" .. kind], host.fields["keep_" .. kind], functions.upgrade
  return function(req)
    local data = upgrade and upgrade(req) or nil
    if type(data) == "table" and getmetatable(data) == Response then return data end
    if data and type(data) ~= "table" then host.check("app." .. kind, "map", "result of upgrade", data) end
    if keep then keep_fields(keep, req) end
    return answer(req, route, data)
  end
end

-- Answers that a function of the script feeds, by an object that it gets when the body is sent: one builder for each kind.
local feeders = {}
for kind, open in pairs(stream_kinds) do
  local begin, title = stream_kinds["begin_" .. kind], "app." .. kind
  if begin then
    -- `written` is the function as the script wrote it.
    feeders[kind] = function(fn, given, written)
      host.check(title, "function", "first argument", fn)
      if given ~= nil then host.check(title, "map", "options", given) end
      local options, headers = {}, new_headers()
      for key, value in pairs(given or {}) do
        if key == "headers" then
          host.check(title, "map", "headers", value)
          for name, field in pairs(value) do host.check_header(title, name, field) headers[name] = field end
        else
          options[key] = value
        end
      end
      for name, field in pairs(open(options)) do headers[name] = field end
      local function feed()
        local returned = fn(begin())
        if type(returned) == "table" and getmetatable(returned) == Response then
          local info = getinfo(written or fn, "S")
          error(title .. ": the function at " .. info.source:sub(2) .. ":" .. info.linedefined .. " returned an answer, "
            .. "but the head of the stream has been sent: refuse in middleware, or return " .. title
            .. "(fn) from a handler", 0)
        end
      end
      return setmetatable({ headers = headers, body = feed, kind = "stream" }, Response)
    end
  end
end

-- The handler of a route of such a kind, and the name of the route.
local function feeding_handler(kind, given, fn)
  local title, options, name = "app." .. kind, {}, nil
  if fn == nil then given, fn = nil, given end
  host.check(title, "function", "handler", fn)
  if given ~= nil then host.check(title, "map", "options", given) end
  for key, value in pairs(given or {}) do
    if key == "name" then name = value else options[key] = value end
  end
  local feed = feeders[kind]
  -- Wrong options are told of when the file is loaded.
  feed(fn, options)
  return function(req)
    return feed(function(object) return fn(req, object) end, options, fn)
  end, name
end

-- Has the last route know the function of a module that declared it.
local function mark(kind)
  program.routes[#program.routes].kind = kind
  if declared then declared[#declared].kind = kind end
end

local function declare(into, prefix)
  for verb, method in pairs(verbs) do
    into[verb] = function(pattern, ...)
      check_pattern(into, verb, pattern)
      host.check_loading("app." .. verb)
      local options, handler = ...
      local is_alone = select("#", ...) < 2 or (handler == nil and type(options) == "function")
      if is_alone then options, handler = nil, options end
      if options == nil and is_options(handler) then handler = nil end
      if handler == nil then host.check("app." .. verb, "function", "handler", handler) end
      if type(options) == "function" and type(handler) == "function" then refuse_more("app." .. verb, ONE_HANDLER, handler) end
      refuse_more("app." .. verb, ONE_HANDLER, select(3, ...))
      refuse_middleware("app." .. verb, options, handler)
      if options ~= nil then host.check("app." .. verb, "map", "options", options) end
      local given = {}
      for key, value in pairs(options or {}) do
        local kind = route_options[key]
        if not kind then
          host.unknown_option("app." .. verb, tostring(key), "body_bytes_max", "compress", "etag", "name",
            "priority", "slow", "stream")
        end
        if kind ~= "size" then host.check("app." .. verb, kind, "option '" .. key .. "'", value) end
        given[key] = value
      end
      local priority, limit = given.priority, given.body_bytes_max
      if priority and priority ~= "high" and priority ~= "normal" then
        error("app." .. verb .. ": option 'priority' must be 'high' or 'normal', not '" .. priority .. "'", 2)
      end
      if type(limit) == "number" and limit % 1 == 0 then limit = ("%.0f"):format(limit) end
      local fixed = type(handler) ~= "function"
      local fn = handler
      if fixed then fn = function() return handler end end
      local file, line = place()
      local source = fixed and "" or getinfo(fn, "S").source
      local route = { method = method or nil, pattern = join(prefix, pattern), handler = fn, fixed = fixed,
        body_bytes_max = limit ~= nil and tostring(limit) or nil, stream = given.stream, uncompressed = given.compress == false,
        etag = given.etag, name = given.name, slow = given.slow, urgent = priority == "high", file = file, line = line,
        handler_file = source:sub(1, 1) == "@" and source:sub(2) or nil }
      program.routes[#program.routes + 1] = route
      note(verb, pattern, route)
    end
  end
  for kind in pairs(route_kinds) do
    into[kind] = function(pattern, given, ...)
      check_pattern(into, kind, pattern)
      host.check_loading("app." .. kind)
      refuse_middleware("app." .. kind, given)
      host.check("app." .. kind, "map", "second argument", given)
      refuse_more("app." .. kind, "it takes only a pattern and a table of options and functions", ...)
      into.get(pattern, route_handler(kind, join(prefix, pattern), given))
      mark(kind)
    end
  end
  for kind, feed in pairs(feeders) do
    into[kind] = function(first, second, third, ...)
      if type(first) == "function" then return feed(first, second) end
      check_pattern(into, kind, first)
      host.check_loading("app." .. kind)
      if type(second) == "function" and type(third) == "function" then refuse_more("app." .. kind, ONE_HANDLER, third) end
      refuse_middleware("app." .. kind, second, third)
      local handler, name = feeding_handler(kind, second, third)
      refuse_more("app." .. kind, ONE_HANDLER, ...)
      into.get(first, { name = name }, handler)
      mark(kind)
    end
  end
  into.use = function(pattern, fn, ...)
    if pattern == into then no_colon("app.use") end
    if fn == nil then pattern, fn = "*", pattern end
    local is_native, asked = host.native_middleware(fn)
    if not is_native then host.check("app.use", "function", "middleware", fn) end
    local own = own_functions[fn]
    if own then error("app.use: " .. own .. " is not middleware itself: call it, as in " .. own .. "{ ... }", 2) end
    if type(pattern) == "function" or host.native_middleware(pattern) then
      refuse_more("app.use", ONE_FUNCTION, pattern)
    end
    refuse_more("app.use", ONE_FUNCTION, ...)
    host.check_loading("app.use")
    local written = pattern
    if pattern == "*" then
      pattern = prefix == "" and "*" or prefix .. "/*"
    else
      check_pattern(into, "use", pattern)
      pattern = join(prefix, pattern)
    end
    local file, line = place()
    if is_native and not asked then
      local behind = #program.middleware
      program.guards[#program.guards + 1] =
        { pattern = pattern, guard = fn, behind = behind, file = file, line = line }
      note("use", written)
    else
      local wrap = asked and asking(fn, asked) or fn
      local item = { pattern = pattern, handler = wrap, native = asked and fn, file = file, line = line }
      program.middleware[#program.middleware + 1] = item
      note("use", written, item, asked and fn)
    end
  end
  into.group = function(inner, fn, ...)
    check_pattern(into, "group", inner)
    host.check("app.group", "function", "second argument", fn)
    refuse_more("app.group", "it takes one function: declare middleware inside of it", ...)
    if takes_none(fn) then error("app.group" .. NO_PARAMETER, 2) end
    note("group", inner)
    fn(scope(join(prefix, (inner:gsub("/$", "")))))
  end
  return into
end
function scope(prefix) return declare({}, prefix) end
declare(app, "")

-- Hosts stand in front of their patterns, without a dot at their end.
function app.host(name, fn, ...)
  if name == app then no_colon("app.host") end
  host.check("app.host", "string", "host", name)
  host.check_host("app.host", name)
  host.check("app.host", "function", "second argument", fn)
  refuse_more("app.host", "it takes one function: declare middleware inside of it", ...)
  if takes_none(fn) then error("app.host" .. NO_PARAMETER, 2) end
  host.check_loading("app.host")
  note("host", name)
  fn(scope((name:gsub("%.$", ""))))
end

local answering_errors = {}
function answering_errors.not_found(fn)
  return function(req, status) return answer_of(status, fn(req)) end
end
function answering_errors.on_error(fn)
  return function(req, err) return answer_of(err.status, fn(req, err)) end
end
for name, around in pairs(answering_errors) do
  local declared_at
  app[name] = function(fn, ...)
    if fn == app then no_colon("app." .. name) end
    host.check("app." .. name, "function", "handler", fn)
    refuse_more("app." .. name, "it takes one function", ...)
    if program[name] then
      error("app." .. name .. ": it is already declared" .. (declared_at and " at " .. declared_at or ""), 2)
    end
    local file, line = place()
    declared_at = file and file .. ":" .. line
    program[name] = around(fn)
  end
end

-- Middleware --------------------------------------------------------------------------------------------------------------

-- What stands at the end of a chain where no handler does: an empty answer with this status, or a file.
local function unanswered(status)
  if type(status) == "table" then return file_response(status[1], status[2]) end
  return setmetatable({ status = status, headers = new_headers(), kind = "empty" }, Response)
end
local chain, traced_chain = make_chain(to_response, answer_of, unanswered, select, host)

-- Requests and errors -------------------------------------------------------------------------------------------------------

-- The metatable of `req.headers`.
host.fields[1] = { __index = function(headers, name)
  if type(name) == "string" then return G.rawget(headers, name:lower()) end
end }
host.request_meta.__index = host.index
-- A field with keys of the script's own, such as the session, would be lost where another value takes its place.
local keyed, rawset = host.keyed, G.rawset
host.request_meta.__newindex = function(req, name, value)
  local own = keyed[name]
  if own == true then return host.assign(req, name, value) end
  if own then error(own, 2) end
  rawset(req, name, value)
end

-- A body that is here as a whole has one chunk.
function host.fields.chunks(req)
  local whole = host.open_body(req)
  if not whole then
    return function() return settled(host.read_chunk(req)) end
  end
  return function()
    local chunk = whole
    whole = nil
    if chunk ~= "" then return chunk end
  end
end
host.fields.form = prompt(host.fields.form)
-- Where the body is read as it comes, what needs all of it waits for its end.
for _, name in ipairs({ "json", "text", "form", "bytes" }) do
  local read = host.fields[name]
  host.streamed[name] = function(req)
    settled(host.read_whole(req))
    return read(req)
  end
end
-- A form with files is read as it comes too.
local read_whole_form = host.streamed.form
host.streamed.form = function(req)
  if host.is_multipart(req) then return host.fields.form(req) end
  return read_whole_form(req)
end

host.request_meta.__metatable = false
-- The number under 1 is the server's own.
local next = G.next
local function next_field(req, key)
  local name, value = next(req, key)
  if name == 1 then return next(req, 1) end
  return name, value
end
host.request_meta.__pairs = function(req) return next_field, req, nil end
host.request_meta.__ipairs = function() return function() end end
host.array_meta.__metatable = false
host.object_meta.__metatable = false

-- 64-bit integers that a Lua number cannot hold.
local int64 = G.require("ffi").typeof("int64_t")
local function make_int64(high, low) return int64(high) * 4294967296LL + int64(low) end

-- Rows of queries: `names` are the columns in order. Gives the function that makes a row of its cells, with the metatable that all such
-- rows share.
local load_text, concat, format = G.load, G.table.concat, G.string.format
local function row_maker(names, meta)
  local fields, cells = {}, {}
  for at, name in ipairs(names) do
    cells[at] = "c" .. at
    fields[at] = format("[%q]=c%d", name, at)
  end
  -- Compiled code would have to be left at each return to the host: the interpreter is faster here.
  local text = "local setmetatable, meta, off = ... local function row(%s) return setmetatable({%s}, meta) end off(row) return row"
  text = format(text, concat(cells, ","), concat(fields, ","))
  return load_text(text, "=[rows]", "t", {})(setmetatable, meta, G.jit.off)
end

env.package.loaded.sampan = app
return {
  program = program, chain = chain, traced_chain = traced_chain, make_int64 = make_int64, row_maker = row_maker, app = app,
  declared = declared, asking = asking, route_kinds = route_kinds, route_handler = route_handler,
  feeders = feeders, feeding_handler = feeding_handler, answering_errors = answering_errors, response_headers_meta = headers_meta,
  -- A write says no more than this: the body has room again, or the reader has gone.
  stream = function(fn, write)
    fn(function(chunk)
      local ok, err = write(chunk)
      if ok == false then error(err, 0) end
    end)
  end,
}
