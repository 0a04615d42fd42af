-- Spring PetClinic in Lua: sampan run examples/petclinic/lua
local app = require "sampan"
local page = require "page"
require "texts"
require "owners"
require "pets"
require "vets"

app.get("/", function(req) return page(req, "welcome.html") end)

-- Fails on purpose, to show the page of an error.
app.get("/oups", function() error("this page always fails") end)

local function error_page(req, status)
  return page(req, "error.html", { status = status, id = req.id }, status)
end

app.not_found(function(req) return error_page(req, 404) end)
app.on_error(function(req, err) return error_page(req, err.status) end)
