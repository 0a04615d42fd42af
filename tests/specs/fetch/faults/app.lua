local app = require "sampan"

local function at(req, name) return req.headers["x-" .. name] end

-- A megabyte of zeros.
local BOMB = table.concat {
  "H4sIAAyYCGsC/+3BMQEAAADCoPVPbQhfoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPgMc6jinAAAQ",
  "AA==",
}
app.get("/up/bomb", function()
  return app.text(app.codec.base64_decode(BOMB), { headers = { ["content-encoding"] = "gzip" } })
end)

local function told(ok, res)
  if ok then return { status = res.status, body = res:text() } end
  return { code = res.code, message = tostring(res) }
end
local LIMITS = { silent = { timeout = { head = "40ms" } }, slow = { timeout = { idle = "40ms" } } }

app.get("/ask/:name", function(req)
  local name = req.params.name
  local first = told(pcall(app.fetch, "http://" .. at(req, name) .. "/", LIMITS[name]))
  -- The next request is none the worse for it.
  first.next = app.fetch("http://" .. at(req, "fine") .. "/"):text()
  return first
end)
app.get("/uncaught/:name", function(req)
  local name = req.params.name
  return app.fetch("http://" .. at(req, name) .. "/", LIMITS[name])
end)
app.get("/late", function(req) return app.fetch("http://" .. at(req, "silent") .. "/", { timeout = "20ms" }) end)
app.get("/stream/:name", function(req)
  local name = req.params.name
  local options = LIMITS[name] or {}
  options.stream = true
  local res = app.fetch("http://" .. at(req, name) .. "/", options)
  local got = ""
  local ok, err = pcall(function()
    for chunk in res:chunks() do got = got .. chunk end
  end)
  return { status = res.status, got = got, ok = ok, code = not ok and err.code or nil }
end)
app.get("/json/:name", function(req)
  local ok, err = pcall(function() return app.fetch("http://" .. at(req, req.params.name) .. "/"):json() end)
  return { ok = ok, code = err.code }
end)
app.get("/bomb", function(req)
  return told(pcall(app.fetch, "http://" .. req.headers.host .. "/up/bomb", { body_bytes_max = 100000 }))
end)
app.get("/url", function(req) return told(pcall(app.fetch, req.query.url)) end)
app.get("/tls", function(req) return told(pcall(app.fetch, "https://" .. req.headers.host .. "/")) end)
