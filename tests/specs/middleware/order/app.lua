local app = require "sampan"

local function mark(name)
  return function(req, next)
    req.state.trail = (req.state.trail or "") .. name .. ">"
    local res = next(req)
    res.headers["x-trail"] = (res.headers["x-trail"] or "") .. "<" .. name
    return res
  end
end

app.use(mark("a"))
app.get("/", function(req) return req.state.trail end)
app.use(mark("b"))
app.use("/deep/*", mark("c"))
app.use("/deep/exact", mark("d"))
app.use("/:one/exact", mark("e"))
app.get("/deep/:x", function(req) return req.state.trail end)
app.get("/other/exact", function(req) return req.state.trail end)
