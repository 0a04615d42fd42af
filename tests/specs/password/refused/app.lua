local app = require "sampan"
local password = app.password

app.get("/empty", function() return password.hash("") end)
app.get("/huge", function() return password.hash(("x"):rep(65537)) end)
app.get("/no_hash", function() return tostring(password.verify("x", "hunter2")) end)
app.get("/costly", function()
  return tostring(password.verify("x", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"))
end)
