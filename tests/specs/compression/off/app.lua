local app = require "sampan"
local TEXT = ("all work and no play makes jack a dull boy. "):rep(20)

app.get("/", function() return TEXT end)
