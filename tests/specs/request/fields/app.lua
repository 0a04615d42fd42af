local app = require "sampan"

app.all("/show/:name", function(req)
  return {
    method = req.method, path = req.path, name = req.params.name, q = req.query.q, ip = req.ip,
    agent = req.headers["User-Agent"], lower = req.headers["user-agent"], missing = req.headers["x-none"] == nil,
    body = req.body ~= "" and req:text() or nil,
  }
end)
app.get("/url", function(req) return req.url end)
app.get("/query", function(req) return req.query end)
app.get("/headers", function(req) return { one = req.headers["X-Many"], cookie = req.headers.cookie } end)
app.get("/state", function(req)
  local before = req.state.seen
  req.state.seen = true
  return { before = before or false, after = req.state.seen }
end)
