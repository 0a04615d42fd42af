-- `app.fetch`: requests to other servers, over the rows of the module that sends them (`Module::sends_requests`). Called once by the
-- prelude; returns the function, and the methods of its answers.
local G, host, client, app, Response, new_headers, no_colon = ...

local error, type, pairs, ipairs, setmetatable, tostring = G.error, G.type, G.pairs, G.ipairs, G.setmetatable, G.tostring
local rawget, rawset, lower, concat, tonumber = G.rawget, G.rawset, G.string.lower, G.table.concat, G.tonumber

local known = {
  "body", "body_bytes_max", "decompress", "form", "headers", "json", "method", "query", "redirect", "stream", "timeout",
}
local is_known = {}
for _, name in ipairs(known) do is_known[name] = true end

-- Fields that are of one connection (RFC 9110, section 7.6.1), or that the server writes: a request of a client may be passed on with
-- its own.
local not_sent = {}
for name in ("connection keep-alive proxy-connection te trailer transfer-encoding upgrade host content-length"):gmatch("%S+") do
  not_sent[name] = true
end

-- What gives the pieces of a body that has not been read, by its answer.
local unread = setmetatable({}, { __mode = "k" })

local function header_list(headers)
  local list = {}
  for name, value in pairs(headers) do
    host.check("app.fetch", "string", "name of a header", name)
    if not not_sent[lower(name)] then
      for _, one in ipairs(type(value) == "table" and value or { value }) do
        list[#list + 1] = name
        list[#list + 1] = type(one) == "number" and tostring(one) or one
      end
    end
  end
  return list
end

-- The length of a body that a function gives, if the fields tell it: as where the body of a client's request is passed on with them.
local function length_of(headers)
  for name, value in pairs(headers) do
    if lower(name) == "content-length" then
      local length = tonumber(value)
      if length and length >= 0 and length % 1 == 0 and length <= 9007199254740991 then return length end
    end
  end
end

-- Fields that come several times are joined, except for cookies.
local function headers_of(list)
  local headers = new_headers()
  for at = 1, #list, 2 do
    local name, value = list[at], list[at + 1]
    local before = rawget(headers, name)
    if before == nil then
      rawset(headers, name, value)
    elseif name ~= "set-cookie" then
      rawset(headers, name, before .. ", " .. value)
    elseif type(before) == "table" then
      before[#before + 1] = value
    else
      rawset(headers, name, { before, value })
    end
  end
  return headers
end

-- A function that sends the body: it is called with `write`, and again for as long as it gives pieces itself. So a function of
-- `app.stream` is one, and an iterator such as `req:chunks()` too.
local function feed_of(fn)
  return function(call)
    local function write(chunk)
      if type(chunk) ~= "string" then host.check("app.fetch", "string", "argument of write", chunk) end
      call:write(chunk)
    end
    local chunk = fn(write)
    while chunk ~= nil do
      write(chunk)
      chunk = fn(write)
    end
  end
end

-- The function that gives the next piece.
local function pieces_of(answer)
  local whole, rest = answer.body, answer.rest
  return function()
    if whole then
      local piece = whole
      whole = nil
      if piece ~= "" then return piece end
    end
    if not rest then return nil end
    local piece = rest:read()
    if piece == nil then rest = nil end
    return piece
  end
end

local function take(res, name)
  local pieces = unread[res]
  if not pieces then
    if type(res) == "table" and rawget(res, "url") == nil then
      error("res:" .. name .. "() is for answers of app.fetch", 3)
    end
    error("the body has already been read", 3)
  end
  unread[res] = nil
  return pieces
end

local function fetch(url, options)
  if url == app then no_colon("app.fetch") end
  host.check("app.fetch", "string", "url", url)
  if options ~= nil then host.check("app.fetch", "map", "options", options) end
  local sent, feed, json, is_stream = { url = url }, nil, {}, false
  for name, value in pairs(options or {}) do
    if not is_known[name] then host.unknown_option("app.fetch", tostring(name), G.unpack(known)) end
    if name == "headers" then
      host.check("app.fetch", "map", "option 'headers'", value)
      sent.headers = header_list(value)
    elseif name == "json" then
      json[1] = value
    elseif name == "stream" then
      host.check("app.fetch", "boolean", "option 'stream'", value)
      is_stream = value
    elseif name == "body" and type(value) == "function" then
      feed = feed_of(value)
    elseif name == "method" then
      host.check("app.fetch", "string", "option 'method'", value)
      sent.method = value:upper()
    else
      sent[name] = value
    end
  end
  sent.whole, sent.bound = not is_stream, true
  local length = feed and options.headers and length_of(options.headers)
  local answer = client.send(sent, length and client.call(true, length) or nil, feed, G.unpack(json))
  local res = {
    status = answer.status, status_text = answer.reason, headers = headers_of(answer.headers), url = answer.url,
    redirected = answer.redirected,
  }
  setmetatable(res, Response)
  if not is_stream then
    res.body, res.kind = answer.body or "", "text"
    return res
  end
  local pieces = pieces_of(answer)
  unread[res] = pieces
  -- So that the answer can be passed on.
  res.kind = "stream"
  res.body = function(write)
    take(res, "body")
    for piece in pieces do write(piece) end
  end
  return res
end

local methods = {}
function methods.text(res)
  local body = rawget(res, "body")
  if type(body) == "string" then return body end
  local parts = {}
  for piece in take(res, "text") do parts[#parts + 1] = piece end
  return concat(parts)
end
function methods.json(res)
  local body = rawget(res, "body")
  if type(body) ~= "string" then body = methods.text(res) end
  return client.decode(body)
end
function methods.chunks(res)
  local body = rawget(res, "body")
  if type(body) == "string" then return pieces_of(res) end
  return take(res, "chunks")
end

return fetch, methods
