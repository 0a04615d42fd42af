local app = require "sampan"

app.get("/", function() return { runtime = app.runtime, version = app.version:match("^%d+%.%d+%.%d+$") ~= nil } end)
