local app = require "sampan"

app.get("/printed", function() return app.render_string("[{{ nope }}]") end)
app.get("/tested", function() return app.render_string("[{% if nope %}x{% endif %}]") end)
app.get("/each", function() return app.render_string("[{% for x in nope %}x{% endfor %}]") end)
app.get("/deeper", function() return app.render_string("[{{ nope.deeper }}]") end)
