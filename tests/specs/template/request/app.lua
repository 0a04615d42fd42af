local app = require "sampan"

app.get("/pages/:id", function(req) return req:render("page.html", { title = "<Ada>" }) end)
app.get("/status", function(req) return req:render("page.html#part", {}, { status = 404, headers = { ["x-a"] = "b" } }) end)
app.get("/none", function(req) return app.render("plain.txt") end)
app.get("/there", function(req) return req:render("plain.txt") end)
app.get("/own", function(req) return req:render("own.txt", { request = "mine" }) end)
app.get("/wrong", function(req) return req:render(7) end)
app.get("/misspelt", function(req) return req:render("plain.txt", {}, { stauts = 1 }) end)
app.use("/late", function(req, next)
  local res = next(req)
  res.headers["x-late"] = "yes"
  return res
end)
app.get("/late", function(req) return req:render("plain.txt", nil, 201) end)
app.post("/name", function(req)
  req.session.name = "<Ada>"
  req:flash("notice", "Saved & done")
end)
app.get("/name", function(req) return req:render("session.html") end)
app.get("/id", function(req) return req:render("id.txt") end)
app.get("/fields", function(req) return req:render("fields.txt") end)
app.get("/outside", function() return app.render("session.html") end)
app.get("/outside/bare", function() return app.render("bare.txt") end)
app.get("/outside/given", function() return app.render("session.html", { session = { name = "given" } }) end)
app.get("/outside/lacks", function() return app.render("bare.txt", { session = {} }) end)
