local app = require "sampan"

-- Lua's strings are bytes, so the content type says what they are.
local function bytes(body, kind) return app.text(body, { headers = { ["Content-Type"] = kind } }) end
local octets = "application/octet-stream"
app.get("/buffer", function() return bytes("\1\2\3", octets) end)
app.get("/view", function() return bytes("\2\3", octets) end)
app.get("/blob", function() return bytes("<b>", "text/html") end)
app.get("/untyped", function() return bytes("x", octets) end)
app.get("/stream", function() return app.stream(function(write) write("one") write("two") end) end)
app.use("/wrapped/*", function(req, next) return next(req) end)
app.get("/wrapped/blob", function() return bytes("<b>", "text/html") end)
app.get("/wrapped/view", function() return bytes("\2\3", octets) end)
