local app = require "sampan"

app.get("/", function()
  local seconds, millis = app.time.now(), app.time.now_ms()
  return {
    near = math.abs(seconds * 1000 - millis) < 1000,
    whole = millis == math.floor(millis),
    recent = seconds > 1.7e9,
  }
end)
