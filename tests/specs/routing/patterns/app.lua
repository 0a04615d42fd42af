local app = require "sampan"

local function answer(name)
  return function(req) return { route = name, params = req.params } end
end

app.get("/", answer("root"))
app.get("/users/new", answer("literal"))
app.get("/users/:id", answer("param"))
app.get("/users/:user/posts/:post", answer("two"))
app.get("/files/*path", answer("rest"))
app.get("/any/*", answer("bare"))
app.get("/:page", answer("page"))
app.get("/with/slash/", answer("slash"))
app.get("/café", answer("café"))
app.put("/users/:id", answer("put"))
app.patch("/users/:id", answer("patch"))
app.delete("/users/:id", answer("delete"))
app.all("/all", function(req) return { method = req.method } end)
app.get("/all", answer("get wins over all"))
