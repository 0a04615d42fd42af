local app = require "sampan"

local seen = "nothing"
app.post("/form", { stream = true, body_bytes_max = "10 MB" }, function(req)
  seen = "runs"
  local ok, err = pcall(req.form, req)
  seen = ok and "whole" or ("%d %s"):format(err.status or 0, err.message)
  if not ok then error(err) end
  return "read"
end)
app.get("/seen", function() return { seen = seen, files = app.files.list() } end)
