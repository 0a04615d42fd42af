local app = require "sampan"
local db = app.db

app.get("/app", function() return app.jsno({}) end)
app.get("/module", function() return app.log.warning("x") end)
app.get("/local", function() return db.qurey("x") end)
app.get("/request", function(req) return req:forn() end)
app.get("/object", function(req) return req.session:claer() end)
app.get("/index", function() return app.bd.one("x") end)
app.get("/library", function() return string.fomat("x") end)
app.get("/global", function() pritn("x") end)
app.get("/far", function() return app.bake(1) end)
app.get("/listen", function() return app.listen(3000) end)
app.get("/static", function() return app:static("/files") end)
app.get("/own", function() return app.redirec("/") end)
app.get("/nested", function() return app.db.qury("x") end)
