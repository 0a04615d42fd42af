local app = require "sampan"

local pattern = app.regex.new([[(?<first>[a-z])\w*]], { flags = "i" })
local line = app.regex.new("^.$", { flags = "ms" })

app.get("/test", function() return { pattern:test("Ada"), pattern:test("1"), line:test("ab\nc\nde") } end)
app.get("/find", function() return { pattern:find("1 Ada"), pattern:find("1") or "nothing" } end)
app.get("/find_all", function() return pattern:find_all("Ada, Grace") end)
app.get("/match", function() return pattern:match("Ada") end)
app.get("/match_all", function()
  local firsts = {}
  for _, found in ipairs(pattern:match_all("Ada, Grace")) do firsts[#firsts + 1] = found.named.first end
  return firsts
end)
app.get("/replace", function()
  return { pattern:replace("Ada 1", "<$0>"), pattern:replace("Ada", function(found) return found.groups[1] end) }
end)
app.get("/split", function() return pattern:split("1 Ada 2") end)
app.get("/many", function()
  local n = 0
  for at = 1, 200 do
    if app.regex.test("a" .. at, "^a" .. at .. "$") then n = n + 1 end
  end
  return { n }
end)
