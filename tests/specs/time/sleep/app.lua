local app = require "sampan"

app.get("/sleep/:ms", function(req)
  app.time.sleep(tonumber(req.params.ms) / 1000)
  return "slept " .. req.params.ms
end)
app.get("/quick", function() return "quick" end)
app.get("/bad/:what", function(req)
  local bad = { negative = -1, nan = 0 / 0, long = 86401, text = "1" }
  local ok, err = pcall(app.time.sleep, bad[req.params.what])
  return { ok = ok, message = type(err) == "table" and err.message or tostring(err) }
end)
