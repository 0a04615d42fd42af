local app = require "sampan"

app.get("/", function(req)
  local tz = { tz = "Europe/Berlin", style = "short", time = true }
  return {
    req:format_date(1751364000, tz), req:format_date("2025-07-01 10:00:00", tz), req:format_date("2025-12-31T23:30:00Z", tz),
    req:format_date("2025-07-01", tz), req:format_number(12.5, { currency = "EUR" }), req:format_number(-1234, { currency = "JPY" }),
    req:format_number(12.345, { currency = "USD", decimals = 3 }), req:format_number(1, { currency = "XYZ" }),
  }
end)
app.get("/offsets", function(req)
  local shown = {}
  for at, offset in ipairs { "+02", "+0530", "-04:00" } do
    shown[at] = req:format_date("2025-07-01T12:00:00" .. offset, { tz = "Europe/Berlin", style = "short", time = true })
  end
  return shown
end)
app.get("/page", function(req) return req:render("page.txt", { at = 1751364000 }) end)
local function fault(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
app.get("/faults", function(req)
  return {
    fault(req.format_date, req, 0, { tz = "Europe/Nowhere" }), fault(req.format_date, req, 0, { tz = 1 }),
    fault(req.format_number, req, 1, { currency = "euro" }),
    fault(req.format_date, req, "2025-07-01 10:00:00+99:99"),
  }
end)
