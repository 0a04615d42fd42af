local app = require "sampan"

local function up(req, path) return "http://" .. req.headers.host .. "/up/" .. path end

-- What is asked.
app.get("/up/json", function() return { name = "Ann", list = app.json.array {}, none = app.null, big = 9007199254740993LL } end)
app.all("/up/echo", function(req)
  return {
    method = req.method, body = req:text(), query = req.query, type = req.headers["content-type"], own = req.headers["x-own"],
  }
end)
app.get("/up/fields", function()
  return app.text("", { headers = { ["set-cookie"] = { "a=1", "b=2" }, ["x-two"] = { "one", "two" }, ["X-Case"] = "kept" } })
end)
app.get("/up/status/:code", function(req) return app.text("status", tonumber(req.params.code)) end)
app.get("/up/nothing", function() end)
app.get("/up/bytes", function() return app.text("\0\255\200", { headers = { ["content-type"] = "application/octet-stream" } }) end)
app.get("/up/words", function() return "no JSON" end)

-- Those who ask.
app.get("/json", function(req)
  local res = app.fetch(up(req, "json"))
  local value = res:json()
  return {
    status = res.status, type = res.headers["Content-Type"], name = value.name, list = value.list, is_null = value.none == app.null,
    text = res:text() == res.body, redirected = res.redirected, url = res.url == up(req, "json"),
  }
end)
app.get("/echo/:kind", function(req)
  local options = ({
    get = { headers = { ["X-Own"] = "é" }, query = { q = "a b&c", n = { 1, 2 } } },
    json = { json = { a = { 1, 2 }, b = app.null } },
    form = { form = { name = "Ann Lee", ["ä"] = "&" } },
    text = { method = "put", body = "text" },
    list = { method = "PATCH", headers = { ["content-type"] = "text/x", ["x-own"] = { "one", "two" } }, body = "x" },
    delete = { method = "DELETE" },
  })[req.params.kind]
  return app.fetch(up(req, "echo"), options):json()
end)
app.get("/fields", function(req)
  local headers = app.fetch(up(req, "fields")).headers
  return { cookies = headers["Set-Cookie"], two = headers["x-two"], case = headers["x-case"], none = headers["x-none"] == nil }
end)
app.get("/status/:code", function(req) return { status = app.fetch(up(req, "status/" .. req.params.code)).status } end)
app.get("/nothing", function(req)
  local res = app.fetch(up(req, "nothing"))
  return { status = res.status, body = res:text() }
end)
app.get("/bytes", function(req)
  local body = app.fetch(up(req, "bytes")).body
  return { bytes = { body:byte(1, -1) } }
end)
app.get("/head", function(req)
  local res = app.fetch(up(req, "json"), { method = "HEAD" })
  return { status = res.status, body = res.body }
end)
app.get("/pass/:what", function(req) return app.fetch(up(req, req.params.what)) end)
app.get("/changed", function(req)
  local res = app.fetch(up(req, "json"))
  res.headers["x-added"] = "yes"
  res.status = 201
  return res
end)
app.get("/two", function(req)
  local one, other = app.fetch(up(req, "json")), app.fetch(up(req, "status/404"))
  return { one.status, other.status }
end)
