-- Bodies and header fields, as measured by `cargo xtask bench hello`:  sampan run examples/bench_bodies/app.lua
local app = require "sampan"

local headers = {}
for at = 1, 20 do headers["x-field-" .. at] = "the value of field " .. at end

app.get("/headers", function() return app.text("ok", { headers = headers }) end)

app.post("/length", function(req)
  local body = req:text()
  return { length = #body }
end)

app.post("/count", function(req)
  local items = req:json()
  return { count = #items, last = items[#items].id }
end)

local function of(bytes) return ("0123456789"):rep(bytes / 10) end
local small, medium, large = of(10000), of(100000), of(1000000)

app.get("/text/10k", function() return small end)
app.get("/text/100k", function() return medium end)
app.get("/text/1m", function() return large end)
