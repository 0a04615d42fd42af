local app = require "sampan"

local data = { x = { 1, 2, 3 }, n = 1000000000, long = ("a"):rep(400000), many = {} }
for at = 1, 60000 do data.many[at] = at end

-- Of faults in one line of one template the log tells ten in a second.
local function line(number) return ("\n"):rep(number) end

app.get("/slice", function() return app.render_string(line(1) .. [==[{% for c in x|slice(n) %}a{% endfor %}]==], data) end)
app.get("/batch", function() return app.render_string(line(2) .. [==[{{ x|batch(n, '')|length }}]==], data) end)
app.get("/indent", function() return app.render_string(line(3) .. [==[{{ "a\nb"|indent(n) }}]==], data) end)
app.get("/tojson", function() return app.render_string(line(4) .. [==[{{ x|tojson(n) }}]==], data) end)
app.get("/format", function() return app.render_string(line(5) .. [==[{{ '%1000000000d'|format(1) }}]==], data) end)
app.get("/format_method", function() return app.render_string(line(6) .. [==[{{ '{:1000000000}'.format(1) }}]==], data) end)
app.get("/replace", function() return app.render_string(line(7) .. [==[{{ long|replace('a', long)|length }}]==], data) end)
app.get("/join", function() return app.render_string(line(8) .. [==[{{ many|join(long)|length }}]==], data) end)
app.get("/times", function() return app.render_string(line(9) .. [==[{{ ([[1]] * n)|length }}]==], data) end)
app.get("/letters", function() return app.render_string(line(10) .. [==[{{ ('x' * (n // 100))|list|length }}]==], data) end)
app.get("/reject", function() return app.render_string(line(11) .. [==[{{ many|reject('in', many)|list|length }}]==], data) end)
app.get("/deep", function() return app.render_string(line(12) .. [==[{% set ns = namespace(s=none) %}{% for i in many %}{% set ns.s = {'next': ns.s} %}{% endfor %}]==], data) end)
app.get("/deep_list", function() return app.render_string(line(13) .. [==[{% set ns = namespace(s=none) %}{% for i in many %}{% set ns.s = [ns.s] %}{% endfor %}]==], data) end)
app.get("/self", function() return app.render_string(line(14) .. [==[{% set ns = namespace() %}{% set ns.n = ns %}{{ ns }}]==], data) end)
app.get("/ring", function() return app.render_string(line(15) .. [==[{% set a = namespace() %}{% set b = namespace(a=[a]) %}{% set a.b = {'b': b} %}{{ a == a }}]==], data) end)
app.get("/doubled", function() return app.render_string(line(16) .. [==[{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}]==], data) end)
app.get("/join_items", function() return app.render_string(line(17) .. [==[{{ ([long] * 300)|join|length }}]==], data) end)
app.get("/format_items", function() return app.render_string(line(18) .. [==[{{ ('{0}' * 300).format(long)|length }}]==], data) end)
app.get("/string_items", function() return app.render_string(line(19) .. [==[{{ ([long] * 300)|string|length }}]==], data) end)
app.get("/tojson_items", function() return app.render_string(line(20) .. [==[{{ ([long] * 300)|tojson|length }}]==], data) end)
app.get("/sum_items", function() return app.render_string(line(21) .. [==[{{ ([long] * 300)|sum(start='')|length }}]==], data) end)
app.get("/pprint_items", function() return app.render_string(line(22) .. [==[{{ ([long] * 300)|pprint|length }}]==], data) end)
app.get("/map_items", function() return app.render_string(line(23) .. [==[{{ ([long] * 300)|map('upper')|list|length }}]==], data) end)
app.get("/deep_items", function() return app.render_string(line(24) .. [==[{{ ([[[[x * 100] * 100] * 100] * 100] * 100)|tojson|length }}]==], data) end)
app.get("/long/:what", function(req)
  local parts = { minus = "{{ " .. ("-"):rep(100000) .. "1 }}", plus = "{{ " .. ("1+"):rep(100000) .. "1 }}",
    filters = "{{ 1" .. ("|abs"):rep(100000) .. " }}", members = "{{ x" .. (".b"):rep(100000) .. " }}",
    branches = "{% if 0 %}" .. ("{% elif 1 %}"):rep(50000) .. "{% endif %}", nots = "{{ " .. ("not "):rep(100000) .. "1 }}" }
  return app.render_string(parts[req.params.what], data)
end)
app.get("/sums", function() return app.render_string("{% set ns = namespace(s=[]) %}{% for i in range(1000) %}{% set ns.s = ns.s + [i] %}{% endfor %}{{ ns.s|length }}", data) end)
