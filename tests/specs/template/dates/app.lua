-- A `Date` of JavaScript is the text that `toISOString` gives, in templates too. Lua has that text.
local app = require "sampan"

local day = "1970-01-01T00:00:00.000Z"
app.get("/shown", function() return app.render_string("{{ day }} {{ day|format_date }}", { day = day }) end)
app.get("/json", function() return app.render_string("{{ data|tojson }}", { data = { day = day, days = { day } } }) end)
app.get("/loop", function()
  local days = { day, "1970-01-01T00:00:01.000Z" }
  return app.render_string("{% for day in days %}{{ day }};{% endfor %}", { days = days })
end)
