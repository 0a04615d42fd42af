local app = require "sampan"
local greet = require "lib.greet"
local again = require "lib.greet"

app.get("/", function() return { text = greet.hello("Ann"), same = greet == again, inner = greet.inner } end)
app.get("/outside", function() return { ok = (pcall(require, "../../routing/groups/app")) } end)
