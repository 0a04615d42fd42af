local app = require "sampan"
local lists = { plain = { 1, 2, 3 } }

app.template.filter("fails", function(value) error("no filter for " .. value) end)
app.template.filter("grows", function(value)
  for at = 1, 10 do table.insert(lists.plain, at) end
  return value
end)
app.template.filter("shrinks", function(value)
  while #lists.plain > 0 do table.remove(lists.plain) end
  return value
end)
app.template.filter("waits", function(value)
  app.time.sleep(0.001)
  return value
end)

local function told(fn)
  local ok, err = pcall(fn)
  return tostring(err)
end

local cases = {
  undefined = function() return app.render("undefined.html", { user = { name = "Ada" } }) end,
  missing = function() return app.render("nope.html") end,
  misspelt = function() return app.render("undefind.html") end,
  outside = function() return app.render("../app.lua") end,
  block = function() return app.render("undefined.html#nope", { user = { nme = 1 } }) end,
  include = function() return app.render("circle.html") end,
  recursion = function() return app.render("endless.html") end,
  argument = function() return app.render("argument.html", { list = { 1 }, n = "x" }) end,
  thrown = function() return app.render("thrown.html", { value = "x" }) end,
  waits = function() return app.render_string("{{ 1|waits }}") end,
  list = function() return app.render_string("x", { 1, 2 }) end,
  number = function() return app.render_string("x", 5) end,
  func = function() return app.render_string("{{ f }}", { f = print }) end,
  called = function() return app.render_string("{{ f() }}", { f = print }) end,
  itself = function()
    local it = {}
    it.it = it
    return app.render_string("{{ it|tojson }}", { it = it })
  end,
  syntax = function() return app.render_string("{% if %}") end,
  getter = function()
    local data = setmetatable({}, { __index = function(_, name) error("no " .. name) end })
    return app.render_string("{{ name }}", data)
  end,
  late = function() app.template.filter("late", function() end) end,
  late_func = function() app.template.func("late", function() end) end,
  options = function() return app.render("plain.html", {}, { stauts = 200 }) end,
  name = function() return app.render(5) end,
}
app.get("/told", function(req) return told(cases[req.query.case]) end)
app.get("/raised", function() return app.render("undefined.html", { user = { name = "Ada" } }) end)
app.get("/grows", function()
  lists.plain = { 1, 2, 3 }
  return app.render_string("{% for x in list %}{{ x|grows }} {% endfor %}{{ list|length }}", { list = lists.plain })
end)
app.get("/shrinks", function()
  lists.plain = { 1, 2, 3 }
  return app.render_string("{% for x in list %}{{ x|shrinks }} {{ x is defined }} {% endfor %}", { list = lists.plain })
end)
app.get("/types", function()
  local faults = {}
  for _, text in ipairs({
    "x|truncate(s)", "x|truncate(-1)", "x|truncate(5, s)", "x|truncate(5, true, 3)",
    "x|wordwrap(width=3 / 2)", "x|indent(n > 1)", "1.25|round(s)",
    "1.25|round(1, method=5)", "x|tojson(indent=[1])", "[x]|map('truncate', s)|list",
  }) do
    local _, err = pcall(app.render_string, "{{ " .. text .. " }}", { x = "ab cd ef", s = "9", n = 9 })
    faults[#faults + 1] = tostring(err):match("the filter [^\n]*")
  end
  return faults
end)
app.get("/truth", function()
  return app.render_string("{{ x|truncate(7, n) }}|{{ y|truncate(16 / 2, 0) }}", { x = "abcdefghijklmnop", y = "ab cd efghi klmnop", n = 1 })
end)
