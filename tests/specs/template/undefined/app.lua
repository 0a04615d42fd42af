local app = require "sampan"

app.get("/", function() return app.render_string("[{{ nope }}{{ nope.deeper }}{% for x in nope %}x{% endfor %}]") end)
