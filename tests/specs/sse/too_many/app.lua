local app = require "sampan"

local function feed() end

app.sse("/s", {}, feed, feed)
