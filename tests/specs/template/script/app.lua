local app = require "sampan"

app.template.filter("money", function(value, currency) return ("%.2f %s"):format(value, currency or "CHF") end)
app.template.filter("upper", function(value) return "own " .. value end)
app.template.filter("markup", function(value) return "<b>" .. value .. "</b>" end)
app.template.filter("shape", function(value) return type(value) end)
app.template.filter("named", function(value, options) return value .. options.sep .. options.n end)
app.template.func("link", function(owner, options) return "/owners/" .. owner.id .. "?tab=" .. options.tab end)
app.template.func("list", function() return { 1, "two", { three = 3 } } end)
app.template.func("nothing", function() end)
app.template.func("inner", function(name) return app.render_string("[{{ name|money }}]", { name = name }) end)

app.get("/", function()
  return app.render("page.html", { price = 1234.5, owner = { id = 7 }, names = { "a", "b" }, flag = true })
end)
local ok, wrong = pcall(app.template.filter, "no name", function() end)
app.get("/wrong", function() return tostring(wrong) end)
