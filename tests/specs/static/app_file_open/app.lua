local app = require "sampan"

app.get("/any/*path", function(req) return app.file(req.params.path) end)
app.get("/kept/*path", function(req) return app.file(req.params.path, { folder = "kept" }) end)
app.get("/storage/*path", function(req) return app.file(req.params.path, { folder = "storage" }) end)
app.get("/save", function(req)
  app.files.write("report.txt", "stored")
  app.db.exec("CREATE TABLE IF NOT EXISTS t (x)")
end)
