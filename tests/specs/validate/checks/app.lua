local app = require "sampan"

local account = {
  name = { required = true, check = function(name)
    if name == "admin" then return "is taken" end
  end },
  password = { required = true, trim = false },
  again = { check = function(again, data) return again == data.password end },
  codes = { type = "list", items = { type = "integer", check = function(code) return code % 2 == 0 or "must be even" end } },
}
local bad = { a = { check = function() return 7 end } }
local throws = { a = { check = function() error("boom") end } }
local waits = { a = { check = function() app.time.sleep(0.001) end } }
local loops = { a = { check = function() while true do end end } }

app.post("/account", function(req)
  local data, errors = app.validate(req:json(), account)
  return errors and { errors = errors } or { data = data }
end)
app.post("/bad", function(req) app.validate(req:json(), bad) end)
app.post("/throws", function(req) app.validate(req:json(), throws) end)
app.post("/waits", function(req) app.validate(req:json(), waits) end)
app.post("/loops", function(req) app.validate(req:json(), loops) end)
