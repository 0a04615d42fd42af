local app = require "sampan"

app.get("/version", { version = "1.0" })
app.get("/list", app.json.array {})
app.get("/text", "plain")
app.get("/number", 42)
app.get("/html", app.html("<p>hi</p>", { headers = { ["x-fixed"] = "yes" } }))
app.post("/made", app.json({ made = true }, 201))
app.use("/wrapped/*", function(req, next)
  local res = next(req)
  res.headers["x-wrapped"] = req.path
  return res
end)
app.get("/wrapped/value", { value = 1 })
app.get("/:page", "a page")
