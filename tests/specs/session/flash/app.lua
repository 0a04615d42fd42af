local app = require "sampan"

app.post("/save", function(req)
  req:flash("notice", "saved")
  req:flash("error", { field = "name", n = 1 })
  return app.redirect("/page", 303)
end)
app.get("/page", function(req)
  local first, second = req:flashes(), req:flashes()
  return { messages = first, again = #second, keys = req.session:keys() }
end)
app.get("/both", function(req)
  local seen = #req:flashes()
  req:flash("notice", "next")
  return { seen = seen }
end)
app.get("/bad", function(req) req:flash("notice") end)
app.get("/many", function(req) for i = 1, 101 do req:flash("notice", i) end end)
