local app = require "sampan"
local files = app.files
local project = { from = "project" }

local at_start = files.read("data/cities.txt", project)

app.get("/start", function() return at_start end)
app.get("/lines", function()
  local all = app.json.array()
  local count = files.lines("data/cities.txt", function(line) all[#all + 1] = line end, project)
  return { count = count, all = all }
end)
app.get("/stops", function()
  local seen = 0
  local count = files.lines("data/cities.txt", function() seen = seen + 1 return seen < 2 end, project)
  return { count = count, seen = seen }
end)
app.get("/throws", function() files.lines("data/cities.txt", function() error("boom") end, project) end)
app.get("/list", function() return files.list("data", project) end)
app.get("/storage", function() return { files.exists("data/cities.txt"), files.exists("app.lua"), files.exists("app.lua", project) } end)
