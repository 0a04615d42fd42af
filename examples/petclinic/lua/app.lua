-- Spring PetClinic in Lua: sampan run examples/petclinic/lua
local app = require "sampan"
require "owners"
require "pets"
require "vets"

-- Styles and pictures are our own; there are no scripts.
app.use(app.secure_headers { csp = "default-src 'self'" })

app.get("/", function(req) return req:render("welcome.html") end)

-- Fails on purpose, to show the page of an error.
app.get("/oups", function() error("this page always fails") end)

app.not_found(function(req) return req:render("error.html", { status = 404 }, 404) end)
app.on_error(function(req, err) return req:render("error.html", { status = err.status }, err.status) end)
