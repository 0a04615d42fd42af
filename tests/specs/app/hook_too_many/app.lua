local app = require "sampan"

local function first() end

app.on_start(first, {}, first)
