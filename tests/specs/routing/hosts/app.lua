local app = require "sampan"

local function answer(name)
  return function(req) return { route = name, params = req.params } end
end

app.get("/", answer("root of all"))
app.get("/users/new", answer("literal of all"))
app.put("/users/:id", answer("put of all"))
app.get("/fixed", "fixed of all")
app.host("API.example.org.", function(api)
  api.use(function(req, next)
    local res = next(req)
    res.headers["x-api"] = "yes"
    return res
  end)
  api.get("/", answer("root of api"))
  api.get("/users/:id", { name = "user" }, answer("user of api"))
  api.post("/users/:id.json", answer("post of api"))
  api.group("/v1", function(v1)
    v1.use("/secret/*", function() return app.text("no", 403) end)
    v1.get("/", answer("v1 of api"))
    v1.get("/fixed", "fixed of api")
  end)
end)
app.host("localhost", function(here)
  here.get("/here", answer("here"))
  here.get("/users/new", answer("literal of localhost"))
end)
app.use("/all", function() return app.text("all") end)
app.get("/url", function() return app.url_for("user", { id = 7 }) end)
