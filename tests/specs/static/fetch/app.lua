-- The twin of a JavaScript module with `fetch`: what Lua has for it is a route for everything.
local app = require "sampan"

app.get("/route.txt", function() return "a route" end)
app.all("/*", function(req) return req.method .. " " .. req.path end)
