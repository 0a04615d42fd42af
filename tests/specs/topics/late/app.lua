local app = require "sampan"

app.publish("news", "too early")
