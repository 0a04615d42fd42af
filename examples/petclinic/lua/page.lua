-- A page of the clinic, with what all pages need.
local app = require "sampan"

return function(req, name, data, status)
  data = data or {}
  data.locale = "en"
  data.query = ""
  data.messages = {}
  return app.render(name, data, status)
end
