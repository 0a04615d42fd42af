local app = require "sampan"

app.use("/tagged.css", function(req, next)
  local res = next(req)
  res.headers.etag = '"one"'
  return res
end)
