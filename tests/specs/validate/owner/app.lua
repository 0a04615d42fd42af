local app = require "sampan"

local owner = {
  first_name = { required = true, max = 30 },
  last_name = { required = true, max = 30 },
  address = { required = true },
  city = { required = true },
  telephone = { required = true, pattern = "[0-9]{10}", message = "must be 10 digits" },
}

app.post("/owners", function(req)
  local form = req:form()
  local data, errors = req:validate(form, owner)
  if errors then return app.json({ typed = form, errors = errors }, 422) end
  return data
end)
