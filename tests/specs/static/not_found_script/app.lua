local app = require "sampan"

app.not_found(function() return app.html("<p>the script's</p>") end)
