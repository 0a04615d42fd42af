local app = require "sampan"
local TEXT = ("all work and no play makes jack a dull boy. "):rep(20)

app.get("/page", { etag = true }, function() return TEXT end)
app.get("/own", { etag = true }, function() return app.html(TEXT, { headers = { ETag = 'W/"v1"' } }) end)
app.get("/plain", { etag = true, compress = false }, function() return TEXT end)
