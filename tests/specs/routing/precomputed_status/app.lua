local app = require "sampan"

app.get("/fine", app.json({}, 201))
app.get("/wrong", app.json({}, 1000))
