local app = require "sampan"
local regex = app.regex

local DATE = [[(?<year>\d{4})-(?<month>\d\d)(-(\d\d))?]]

app.get("/test", function() return { regex.test("on 2026-11-23", DATE), regex.test("never", DATE) } end)
app.get("/find", function() return { regex.find("a1 b22", [[\d+]]), regex.find("a", [[\d+]]) or "nothing" } end)
app.get("/find_all", function() return regex.find_all("a1 b22 c", [[\p{L}\d+]]) end)
app.get("/match", function() return regex.match("on 2026-11", DATE) end)
app.get("/none", function() return { none = regex.match("never", DATE) == nil } end)
app.get("/match_all", function()
  local found = {}
  for _, each in ipairs(regex.match_all("2026-11-23 2027-01-02", DATE)) do
    found[#found + 1] = each.named.year .. "/" .. each.groups[4]
  end
  return found
end)
app.get("/replace", function()
  return {
    regex.replace("2026-11 2027-01", DATE, "$month.${year}"),
    regex.replace("a-b", "-", "$$"),
    regex.replace("ada grace", [[\w+]], function(found) return found.text:upper() .. "!" end),
  }
end)
app.get("/split", function() return regex.split("a, b,c", [[,\s*]]) end)
app.get("/escape", function() return { regex.escape("1+1?"), regex.test("1+1?", "^" .. regex.escape("1+1?") .. "$") } end)
app.get("/exponential", function() return { regex.test(("a"):rep(50000) .. "!", "^(a+)+$") } end)
