local app = require "sampan"

local function answer(name)
  return function(req) return { route = name, params = req.params } end
end

app.get("/report/:id.pdf", { name = "report" }, answer("pdf"))
app.post("/report/:id.pdf", answer("post"))
app.get("/report/summary.pdf", answer("literal"))
app.get("/report/:id", answer("whole"))
app.get("/@:user", answer("user"))
app.get("/@:user/posts/:post", answer("post of a user"))
app.get("/v{:major}/:file.:ext", { name = "file" }, answer("file"))
app.get("/items:batch", answer("batch"))
app.get("/items/:id:cancel", answer("cancel"))
app.get("/items/@%3Alist", answer("list"))
app.group("/size/{:w}x{:h}", function(size)
  size.use(function(req, next)
    local res = next(req)
    res.headers["x-size"] = "yes"
    return res
  end)
  size.get("/", answer("size"))
  size.get("/*rest", answer("below a size"))
end)
app.get("/url", function()
  local file = app.url_for("file", { major = 2, file = "a.tar", ext = "gz", page = 1 })
  return { app.url_for("report", { id = "a/b" }), file }
end)
app.get("/url/read/otherwise", function() return app.url_for("file", { major = 2, file = "a", ext = "tar.gz" }) end)
app.get("/url/empty", function() return app.url_for("report", { id = "" }) end)
