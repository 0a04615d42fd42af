local app = require "sampan"

app.health("disk", function() end)
