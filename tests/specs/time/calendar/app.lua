local app = require "sampan"

local time = app.time
local berlin = { tz = "Europe/Berlin" }
app.get("/date", function()
  local d, u = time.date(1751364000, berlin), time.date(0)
  return {
    d.year, d.month, d.day, d.hour, d.minute, d.second, d.weekday, d.yearday, d.offset, u.year, u.hour, u.weekday,
    time.date().year >= 2024,
  }
end)
app.get("/add", function()
  local start = time.parse("2026-01-31 12:00", nil, berlin)
  local later = time.date(time.add(start, { months = 1, tz = "Europe/Berlin" }), berlin)
  -- The clocks change on 2026-03-29.
  local noon = time.parse("2026-03-28 12:00", nil, berlin)
  return {
    later.month, later.day, later.hour, time.add(noon, { days = 1, tz = "Europe/Berlin" }) - noon,
    time.add(noon, { hours = 24, tz = "Europe/Berlin" }) - noon, time.add(0.5, { days = -1 }), time.add(0, { weeks = 1, minutes = 1, years = 0 }),
  }
end)
app.get("/signs", function()
  local start = time.parse("2026-02-01")
  local night = time.parse("2026-01-29 02:30", nil, berlin)
  return {
    time.date(time.add(start, { months = 1, days = -1 })).day, time.add(start, { days = 1, hours = -1 }) - start,
    time.add(start, { hours = -1, minutes = 30 }) - start,
    -- On 2026-03-29 there is no 02:30.
    time.date(time.add(night, { months = 2, days = 1, tz = "Europe/Berlin" }), berlin).hour,
  }
end)
app.get("/parse", function()
  return {
    time.parse("1970-01-02"), time.parse("1970-01-01T00:00:00.5Z"), time.parse("01.02.1970 03:04", "%d.%m.%Y %H:%M"),
    time.parse("02/01/70", "%d/%m/%y", berlin),
  }
end)
app.get("/format", function()
  local at = 1795356309
  return {
    time.format(at), time.format(at, nil, berlin), time.format(at, "%d.%m.%Y %H:%M", berlin), time.format(0.5),
    time.parse(time.format(at, nil, berlin)) - at,
  }
end)
app.get("/c", function()
  return {
    time.format(1795356309, "%c"), time.format(1795356309, "%x"), time.format(-0.5, "%s"),
    time.format(-2500000000, nil, berlin), time.parse(time.format(-2500000000, nil, berlin)),
  }
end)
app.get("/end", function()
  local last = time.parse("9999-12-31 23:59:59")
  local there = time.date(last - 3600, berlin)
  return {
    last, time.parse("9999-12-31T23:59:59Z") - last, time.format(last), time.format(last, "%d.%m.%Y"),
    there.year, there.day, there.hour,
    time.add(time.parse("9999-12-01"), { days = 30 }) - time.parse("9999-12-31"), time.parse(time.http_date(last)) - last,
    time.parse("9999-12-31", "%Y-%m-%d", berlin) - time.parse("9999-12-31"),
  }
end)
app.get("/http", function()
  return {
    time.http_date(784111777.9), time.http_date(0), time.parse("Sun, 06 Nov 1994 08:49:37 GMT"),
    time.parse("Sunday, 06-Nov-94 08:49:37 GMT"), time.parse("Sun Nov  6 08:49:37 1994", nil, berlin),
    math.abs(time.parse(time.http_date()) - time.now()) < 100,
  }
end)
local function fault(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
app.get("/faults", function()
  return {
    fault(time.parse, "x"), fault(time.parse, "1970-01-02", "%d.%m.%Y"), fault(time.date, 0, { tz = "Mars" }),
    fault(time.add, 0, { days = 1.5 }), fault(time.add, 0, { years = 100000 }), fault(time.date, 1e18), fault(time.add, 0, { day = 1 }),
    fault(time.http_date, -1), fault(time.parse, "Mon, 06 Nov 1994 08:49:37 GMT"),
    fault(time.format, 0, "%"), fault(time.format, 1e18), fault(time.format, 0, nil, { zone = "UTC" }),
    fault(time.format, 0, ("%Y"):rep(101)), fault(time.parse, (" "):rep(201)),
    fault(time.add, time.parse("9999-12-31"), { days = 1 }),
    fault(time.format, time.parse("9999-12-31"), "%s"), fault(time.parse, "2026-11-22T14:05:09+24:00"),
  }
end)
