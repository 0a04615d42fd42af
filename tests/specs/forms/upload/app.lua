local app = require "sampan"
local files = app.files

local function shown(value)
  if type(value) == "string" then return value end
  return { name = value.name, type = value.type, size = value.size }
end

local function all(req)
  local seen = {}
  for name, value in pairs(req:form()) do
    if type(value) == "table" then
      seen[name] = app.json.array()
      for at, one in ipairs(value) do seen[name][at] = shown(one) end
    else
      seen[name] = shown(value)
    end
  end
  return seen
end

app.post("/form", all)
app.post("/streamed", { stream = true }, all)
app.post("/twice", { stream = true }, function(req) return { req:form().a, req:form().a } end)
app.post("/save", { stream = true }, function(req)
  local file = req:form().f
  local path = "uploads/" .. file.name
  file:save(path)
  return { text = file:text(), bytes = #file:bytes(), saved = files.read(path), path = path, again = file:save("copy") }
end)
app.post("/pieces", { stream = true, body_bytes_max = "10 MB" }, function(req)
  local file = req:form().f
  local pieces, bytes = 0, 0
  for piece in file.read, file do
    pieces, bytes = pieces + 1, bytes + #piece
  end
  file:save("large")
  return { pieces = pieces, bytes = bytes, size = file.size, saved = files.stat("large").size, names = files.list() }
end)
app.post("/set", function(req) req:form().f.name = "x" end)
local kept
app.post("/keep", function(req) kept = req:form().f return "kept" end)
app.get("/kept", function() return kept.name end)
app.post("/keyed", function(req)
  local file = req:form().f
  local ok, err = pcall(function() return file:set("name", "x") end)
  local piece = file:read()
  return { name = file:get("name"), keys = #file:keys(), set = ok, read = piece ~= nil }
end)
app.post("/again", function(req) return app.render_string("[{{ form.f }}{% if form.f %}+{% endif %}]", { form = req:form() }) end)
