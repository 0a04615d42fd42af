local app = require "sampan"
local db = app.db

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS owners (name TEXT, city TEXT)")
  db.exec("INSERT INTO owners VALUES ('Ada <b>', 'Zürich'), ('Bob', NULL)")
end, { once = true })

app.get("/page", function(req)
  return app.render("page.html", {
    title = "Owners & pets",
    owners = db.query("SELECT name, city FROM owners ORDER BY name"),
    user = req.query.user,
    nested = { deep = { list = { 1, 2, 3 } } },
    half = 0.5,
  })
end)
app.get("/created", function()
  return app.render("page.html", { title = "x", owners = {}, nested = { deep = { list = {} } }, half = 1 },
    { status = 201, headers = { ["X-Kind"] = "page", ["Content-Type"] = "text/html; charset=utf-16" } })
end)
app.get("/status", function() return app.render("note.txt", { name = "<x>" }, 404) end)
app.get("/note", function() return app.render("note.txt", { name = "<x>" }) end)
app.get("/feed", function() return app.render("feed.xml.j2", { name = "<x>" }) end)
app.get("/data", function() return app.render("data.json", { name = "a\"b</script>", list = { 1, "x" } }) end)
app.get("/static", function() return app.render("static.html") end)
app.get("/rows", function()
  return app.render("page.html#rows", { title = "t", owners = db.query("SELECT name, city FROM owners ORDER BY name") })
end)
app.get("/string", function()
  return app.render_string("Hello {{ name }}{% if more %}!{% endif %}", { name = "<Ada>", more = true })
end)
app.get("/null", function()
  return app.render_string("{{ x is none }} {{ y is defined }} {{ l[0] is none }}", { x = app.null, y = nil, l = { app.null } })
end)
app.use("/wrapped", function(req, next)
  local res = next(req)
  res.headers["X-Length"] = tostring(#res.body)
  res.headers["X-Type"] = res.headers["content-type"]
  return res
end)
app.get("/wrapped", function() return app.render("static.html") end)
app.get("/fixed", app.render("static.html"))
