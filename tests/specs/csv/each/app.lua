local app = require "sampan"
local csv = app.csv

local function lines(text, options)
  local all = {}
  local count = csv.each(text, function(record) all[#all + 1] = record end, options)
  return { count = count, all = all }
end

local cases = {
  header = function() return lines("id,name\r\n1,Ann\r\n2,\"B, \"\"b\"\"\nc\"\r\n") end,
  lists = function() return lines("a,b\n1\n", { header = false }) end,
  tabs = function() return lines("a\tb\n1,2\t3", { separator = "\t" }) end,
  mark = function() return lines("\239\187\191\"id\"\n7") end,
  none = function() return lines("").count + lines("id\n").count end,
  stops = function()
    local seen = 0
    local count = csv.each("n\n1\n2\n3\n", function(record) seen = seen + 1 return record.n ~= "2" end)
    return { count = count, seen = seen }
  end,
  nested = function()
    local all = {}
    csv.each("n\n1\n2\n", function(one)
      csv.each("m\na\nb\n", function(two) all[#all + 1] = one.n .. two.m end)
    end)
    return all
  end,
  short = function() return lines("a,b\n1\n") end,
  quote = function() return lines("a\n\"b\n") end,
  twice = function() return lines("a,a\n") end,
  no_text = function() return lines("a\n\255\n") end,
  large = function() return lines("a\n" .. ("x"):rep(1048577)) end,
  throws = function() csv.each("a\n1\n", function() error("boom") end) end,
  waits = function() csv.each("a\n1\n", function() app.time.sleep(0.001) end) end,
  no_function = function() csv.each("a\n1\n", 1) end,
  unknown = function() return lines("a\n", { columns = { "a" } }) end,
  no_flag = function() return lines("a\n", { header = 1 }) end,
}

app.get("/loops", function() csv.each("a\n1\n", function() while true do end end) end)
app.get("/:case", function(req)
  local ok, said = pcall(cases[req.params.case])
  return ok and said or tostring(said)
end)
