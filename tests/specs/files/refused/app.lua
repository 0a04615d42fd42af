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
-- Other writings of ".." and "/" than UTF-8 allows. JavaScript has no such text.
app.get("/overlong", function()
  local refused = {}
  for at, path in ipairs { "\xc0\xae\xc0\xae/app.lua", "..\xc0\xafapp.lua", "\xe0\x80\xae\xe0\x80\xae/app.lua", "\xff" } do
    local _, read = pcall(files.read, path)
    local _, written = pcall(files.write, path, "x")
    local function is_bytes(err) return tostring(err):find("must be a string, not bytes", 1, true) ~= nil end
    refused[at] = is_bytes(read) and is_bytes(written)
  end
  return refused
end)
app.get("/said", function() files.read("../app.lua") end)
app.get("/none", function() files.read("none.txt") end)
app.get("/option", function() files.read("a", { form = "project" }) end)
app.get("/option/async", function() return files.read_async("a", { form = "project" }) end)
app.get("/from", function() files.read("a", { from = "home" }) end)
app.get("/batch", function() app.db.batch(function() files.write("a", "x") end) end)
