local app = require "sampan"

local function guard() end

app.get("/x", {}, guard, function() return "never" end)
