local app = require "sampan"

app.group("/api", function(api)
  api.use(function(req, next)
    local res = next(req)
    res.headers["x-api"] = "yes"
    return res
  end)
  api.get("/", function() return "api root" end)
  api.get("/users/:id", function(req) return { id = req.params.id } end)
  api.group("/v2", function(v2)
    v2.use("/secret/*", function(req, next) return app.text("no", 403) end)
    v2.post("/users", function(req) return { made = req:json() } end)
    v2.get("/secret/plan", function() return "plan" end)
  end)
end)
app.get("/users/:id", function() return "outside" end)
