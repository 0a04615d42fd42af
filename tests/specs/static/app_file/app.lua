local app = require "sampan"

app.get("/report", function() return app.file("report.txt", { folder = "files" }) end)
app.get("/large", function() return app.file("large.bin", { folder = "files" }) end)
app.get("/download", function() return app.file("report.txt", { folder = "files", download = "Größe.txt", type = "text/x-report" }) end)
app.get("/own_name", function()
  return app.file("report.txt", { folder = "files", download = true }, { headers = { ["cache-control"] = "max-age=60" } })
end)
app.get("/below/*path", function(req) return app.file(req.params.path, { folder = "files" }) end)
app.get("/page", function() return app.file("report.txt", { folder = "files" }, 404) end)
app.get("/tagged", function()
  local res = app.file("report.txt", { folder = "files" })
  res.headers.etag = '"mine"'
  return res
end)
app.post("/report", function() return app.file("report.txt", { folder = "files" }) end)
app.get("/weak", function() return app.file("report.txt", { folder = "files" }, { headers = { etag = 'W/"mine"' } }) end)
app.get("/dated", function(req)
  local date = req.query.as or "Sun, 06 Nov 1994 08:49:37 GMT"
  return app.file("report.txt", { folder = "files" }, { headers = { ["last-modified"] = date } })
end)
app.get("/fresh", function(req)
  if req.query.text then app.files.write("fresh.txt", req.query.text) else app.files.remove("fresh.txt") end
  return app.file("fresh.txt", { folder = "storage" })
end)
app.get("/up", function() return app.file("../app.lua") end)
app.get("/folder_up", function() return app.file("app.lua", { folder = ".." }) end)
app.get("/changed", function()
  local res = app.file("report.txt", { folder = "files" })
  res.body = "other"
  return res
end)
app.get("/option", function() return app.file("report.txt", { folder = "files", name = "x" }) end)
app.get("/wrong", function() return app.file("report.txt", { folder = "files", download = 1 }) end)
app.get("/name", function() return app.file("report.txt", { folder = "files", download = "a\r\nb" }) end)
app.on_error(function(_, err) return app.text(err.message, err.status) end)
