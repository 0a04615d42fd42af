local app = require "sampan"

app.get("/output", function() return app.render("large.html", { text = ("x"):rep(100000) }) end)
app.get("/grown", function() return app.render("grown.html") end)
app.get("/endless", function() return app.render("endless.html") end)
app.get("/flat", function()
  local rows = {}
  for at = 1, 20000 do rows[at] = { name = "n", on = true } end
  return #app.render("flat.html", { rows = rows }).body .. ""
end)
app.get("/rows", function()
  local text = ("x"):rep(4000000)
  return app.render("rows.html", { rows = { { text = text }, { text = text } } })
end)
app.get("/fine", function() return app.render_string("fine") end)
