local app = require "sampan"

local function read(req)
  req:form()
  return "read"
end
app.post("/form", { body_bytes_max = "2 KiB" }, read)
app.post("/streamed", { stream = true, body_bytes_max = "2 KiB" }, read)
