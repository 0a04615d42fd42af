local app = require "sampan"
local files = app.files

app.post("/read", function(req)
  local ok, err = pcall(files.read, req:json())
  return { ok = ok, code = err.code }
end)
app.post("/write", function(req)
  local ok, err = pcall(files.write, req:json(), "x")
  return { ok = ok, code = err.code }
end)
app.get("/said", function() files.read("../app.lua") end)
app.get("/none", function() files.read("none.txt") end)
app.get("/option", function() files.read("a", { form = "project" }) end)
app.get("/from", function() files.read("a", { from = "home" }) end)
app.get("/batch", function() app.db.batch(function() files.write("a", "x") end) end)
