local app = require "sampan"

local function log_in(req, next) return next(req) end
local function allow(req, next) return next(req) end

app.use("/admin/*", log_in, allow)
app.get("/admin/x", function() return "never" end)
