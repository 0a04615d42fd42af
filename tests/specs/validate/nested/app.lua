local app = require "sampan"

local address = { type = "object", required = true, fields = { city = { required = true }, zip = "integer" } }
local order = {
  address = address,
  lines = { type = "list", required = true, items = {
    type = "object", fields = { id = { type = "integer", required = true }, tags = { type = "list", items = { max = 3 } } },
  } },
  extra = "any",
}
local names = { all = { type = "list", items = "integer" } }

app.post("/order", function(req)
  local data, errors = app.validate(req:json(), order)
  return errors and { errors = errors } or { data = data }
end)
-- An invoice's lines, as a form names them.
local invoice = { lines = { type = "list", max = 3, items = {
  type = "object", fields = { text = { required = true }, count = "integer" },
} } }
app.post("/invoice", function(req)
  local data, errors = app.validate(app.nested(req:form()), invoice)
  return errors and { errors = errors } or { data = data }
end)
-- Values that are no items of the list.
app.get("/mixed", function()
  for _, list in ipairs { { [0] = 1, 2 }, { 1, name = 2 }, { 1, length = 1 }, { 1, length = 1, name = 2 } } do
    for _, schema in ipairs { names, { all = "any" } } do
      local ok, said = pcall(app.validate, { all = list }, schema)
      if ok or not tostring(said):find("would be lost", 1, true) then return "taken" end
    end
  end
  return "refused"
end)
app.post("/numbers", function(req)
  local _, errors = app.validate(req:json(), names)
  local count = 0
  for _ in pairs(errors) do count = count + 1 end
  return { count = count }
end)
