local app = require "sampan"

app.post("/", { stream = true })
