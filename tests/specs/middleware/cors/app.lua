local app = require "sampan"

app.use(function(req, next)
  local res = next(req)
  res.headers["X-Script"] = "ran"
  return res
end)
app.use("/api/*", app.cors{
  origins = { "https://app.example", "http://localhost:3000" },
  methods = { "get", "post" },
  headers = { "content-type", "authorization" },
  expose = "x-total",
  credentials = true,
  max_age = 600,
})
app.get("/api/items", function() return app.json({ 1 }, { headers = { ["x-total"] = "1" } }) end)
app.post("/api/items", function() return "made" end)
app.get("/api/own", function()
  return app.text("own", { headers = { ["Access-Control-Allow-Origin"] = "https://other.example", Vary = "Accept" } })
end)
app.get("/api/fails", function() error("no luck") end)
app.get("/open", function() return "open" end)
