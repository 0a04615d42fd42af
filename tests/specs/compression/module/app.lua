-- The twin of a JavaScript module with `fetch`: what Lua has for it is a route for everything.
local app = require "sampan"
local TEXT = ("all work and no play makes jack a dull boy. "):rep(20)

app.get("/route", function() return TEXT end)
app.all("/*", { compress = false }, function() return TEXT end)
