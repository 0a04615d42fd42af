local app = require "sampan"

app.get("/eat", function()
  local t = {}
  for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end
end)
local kept = {}
app.get("/keep", function()
  for i = 1, 1e9 do kept[#kept + 1] = ("x"):rep(1000) .. i end
end)
app.get("/fine", function() return "fine" end)
-- More than fits, in arguments of queries that wait at the same time.
app.get("/wait/:count", function(req)
  local text, all = ("x"):rep(1000000), {}
  for at = 1, tonumber(req.params.count) do
    all[at] = function() return app.db.query_async("SELECT length(?) AS n", { text }) end
  end
  return #{ app.gather(unpack(all)) }
end)
