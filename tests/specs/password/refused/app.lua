local app = require "sampan"
local password = app.password

app.get("/empty", function() return password.hash("") end)
app.get("/huge", function() return password.hash(("x"):rep(65537)) end)
app.get("/no_hash", function() return tostring(password.verify("x", "hunter2")) end)
app.get("/costly", function()
  return tostring(password.verify("x", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"))
end)
app.get("/broken", function()
  local began = app.time.now()
  local answers = {}
  for at, hash in ipairs { "", "hunter2", "$2b$10$short", "$2b$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW" } do
    answers[at] = password.verify("x", hash)
  end
  return { answers = answers, is_slow = app.time.now() - began > 0.02 }
end)
