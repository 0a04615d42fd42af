local app = require "sampan"

app.get("/", function(req)
  return {
    req:format_number(1234567.8915), req:format_number(0.5, { decimals = 2 }), req:format_date("2010-09-07"),
    req:format_date("2010-09-07 14:05:09", { style = "short", time = true }), req:format_date(0, { style = "full" }),
  }
end)
app.get("/numbers", function(req)
  return {
    req:format_number(0), req:format_number(-0.0004), req:format_number(2.5, { decimals = 0 }), req:format_number(-1e15),
    req:format_number(9007199254740993LL), req:format_number(1e300):sub(1, 9), req:format_number(0.1 + 0.2),
  }
end)
app.get("/late", function(req) return app.stream(function(write) write(req:format_number(1.5)) end) end)
local function fault(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
app.get("/faults", function(req)
  return {
    fault(req.format_number, req, 0 / 0), fault(req.format_number, req, 1, { decimals = 21 }), fault(req.format_number, req, 1, { digits = 1 }),
    fault(req.format_date, req, "yesterday"), fault(req.format_date, req, "2026-02-30"), fault(req.format_date, req, 1e18),
    fault(req.format_date, req, "2026-02-20", { style = "tall" }), fault(req.format_date, req, { 1 }),
  }
end)
