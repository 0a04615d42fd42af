local app = require "sampan"

app.get("/rep", function() return #string.rep("x", 2e9) end)
app.get("/rep/method", function() return #("x"):rep("2e9") end)
app.get("/rep/separator", function() return #("x"):rep(1e9, "yyyyyyyyyyyyyyyyyyyy") end)
app.get("/pattern", function() return ("a"):rep(40000):find(".-.-.-.-b") or "none" end)
app.get("/match", function() return ("a"):rep(40000):match("(.-)(.-)(.-)b") or "none" end)
app.get("/gsub", function() return ("a"):rep(40000):gsub(".-.-.-.-b", "") end)
app.get("/trim", function() return #(("a "):rep(5e5) .. "b"):match("^%s*(.-)%s*$") end)
app.get("/set", function() return ("a"):rep(1e6):find("[" .. ("b"):rep(1e6) .. "]") or "none" end)
app.get("/plain", function() return ("a"):rep(2e7):find(("a"):rep(1e7) .. "b", 1, true) or "none" end)
app.get("/insert", function() table.insert({}, -1e9, 1) end)
app.get("/gmatch", function()
  for _ in ("a"):rep(40000):gmatch(".-.-.-.-b") do end
  return "none"
end)
app.get("/concat", function()
  local t = {}
  for i = 1, 1e6 do t[i] = "0123456789" end
  local text = table.concat(t)
  while true do text = text .. text end
end)
app.get("/format", function() return #string.format("%99.99f", 1 / 3) end)
app.get("/fill", function()
  local t = {}
  for i = 1, 1e12 do t[i] = i end
end)
app.get("/sort", function()
  local t = {}
  for i = 1, 200000 do t[i] = i % 7 end
  table.sort(t, function() return true end)
  return "sorted"
end)
app.get("/unpack", function() return #{ unpack({}, 1, 1e8) } end)
app.get("/fine", function() return "fine" end)
