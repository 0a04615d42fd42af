local app = require "sampan"
local regex = app.regex

local function told(fn, ...)
  local ok, message = pcall(fn, ...)
  return { ok = ok, message = tostring(message) }
end

app.get("/syntax", function() return told(regex.test, "a", "(a") end)
app.get("/look", function() return told(regex.test, "a", "(?=a)") end)
app.get("/large", function() return told(regex.test, "a", [[(\w{500}){500}]]) end)
app.get("/long", function() return told(regex.test, "a", ("a"):rep(20000)) end)
app.get("/text", function() return told(regex.test, ("a"):rep(1024 * 1024 + 1), "a") end)
app.get("/flags", function() return told(regex.new, "a", { flags = "g" }) end)
app.get("/option", function() return told(regex.new, "a", { flag = "i" }) end)
app.get("/result", function() return told(regex.replace, ("a"):rep(1024 * 1024), "a", ("b"):rep(10000)) end)
app.get("/long_match", function() return told(regex.replace, ("a"):rep(64 * 1024), "(?s).+", ("$0"):rep(500)) end)
app.get("/long_groups", function() return told(regex.match, ("a"):rep(1024 * 1024), "((?:a?){500})*") end)
app.get("/replacement", function() return told(regex.replace, "a", "a", 1) end)
app.get("/returned", function() return told(regex.replace, "a", "a", function() return 1 end) end)
app.get("/raised", function() return told(regex.replace, "a", "a", function() error("mine") end) end)
app.get("/inner", function()
  return { ok = true, message = regex.replace("ab", "a|b", function(found) return regex.replace(found.text, "a|b", "[$0]") end) }
end)
app.get("/many", function() return told(regex.find_all, ("a"):rep(100001), "a") end)

-- A text of letters from a to q without an order, for a pattern that has many states at once.
app.get("/heavy", function()
  local letters, seed = {}, 7
  for i = 1, 400000 do
    seed = (seed * 1103 + 12345) % 65536
    letters[i] = string.char(97 + seed % 17)
  end
  return told(regex.test, table.concat(letters), "[a-h].{300}[r-z]")
end)
