local app = require "sampan"

app.get("/json", function() return app.json({ a = 1 }) end)
app.get("/json/status", function() return app.json({ a = 1 }, 201) end)
app.get("/json/options", function() return app.json({ 1 }, { status = 202, headers = { ["X-A"] = "b" } }) end)
app.get("/html", function() return app.html("<p>é</p>") end)
app.get("/text", function() return app.text("hi", { status = 203 }) end)
app.get("/type", function() return app.text("a,b", { headers = { ["Content-Type"] = "text/csv" } }) end)
app.get("/redirect", function() return app.redirect("/there?x=1") end)
app.get("/moved", function() return app.redirect("/there", 301) end)
app.get("/bad/status", function() return app.json({}, 99) end)
app.get("/bad/option", function() return app.json({}, { statuss = 200 }) end)
app.get("/bad/third", function() return app.html("x", 201, { headers = { ["x-a"] = "b" } }) end)
app.get("/bad/third_of_json", function() return app.json({}, 201, {}) end)
