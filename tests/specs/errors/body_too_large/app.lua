local app = require "sampan"

app.on_error(function(req, err)
  local read = pcall(function() return req:text() end)
  return { mine = err.message, status = err.status, path = req.path, id = req.params.id, read = read }
end)
app.post("/small/:id", { body_bytes_max = 10 }, function(req) return req.body end)
