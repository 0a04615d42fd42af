import { app, time } from "sampan";

const berlin = { tz: "Europe/Berlin" };
app.get("/date", () => {
  const d = time.date(1751364000, berlin), u = time.date(0);
  return [
    d.year, d.month, d.day, d.hour, d.minute, d.second, d.weekday, d.yearday, d.offset, u.year, u.hour, u.weekday,
    time.date().year >= 2024,
  ];
});
app.get("/add", () => {
  const start = time.parse("2026-01-31 12:00", undefined, berlin);
  const later = time.date(time.add(start, { months: 1, tz: "Europe/Berlin" }), berlin);
  // The clocks change on 2026-03-29.
  const noon = time.parse("2026-03-28 12:00", undefined, berlin);
  return [
    later.month, later.day, later.hour, time.add(noon, { days: 1, tz: "Europe/Berlin" }) - noon,
    time.add(noon, { hours: 24, tz: "Europe/Berlin" }) - noon, time.add(0.5, { days: -1 }), time.add(0, { weeks: 1, minutes: 1, years: 0 }),
  ];
});
app.get("/signs", () => {
  const start = time.parse("2026-02-01");
  const night = time.parse("2026-01-29 02:30", undefined, berlin);
  return [
    time.date(time.add(start, { months: 1, days: -1 })).day, time.add(start, { days: 1, hours: -1 }) - start,
    time.add(start, { hours: -1, minutes: 30 }) - start,
    // On 2026-03-29 there is no 02:30.
    time.date(time.add(night, { months: 2, days: 1, tz: "Europe/Berlin" }), berlin).hour,
  ];
});
app.get("/parse", () => [
  time.parse("1970-01-02"), time.parse("1970-01-01T00:00:00.5Z"), time.parse("01.02.1970 03:04", "%d.%m.%Y %H:%M"),
  time.parse("02/01/70", "%d/%m/%y", berlin),
]);
app.get("/format", () => {
  const at = 1795356309;
  return [
    time.format(at), time.format(at, undefined, berlin), time.format(at, "%d.%m.%Y %H:%M", berlin), time.format(0.5),
    time.parse(time.format(at, undefined, berlin)) - at,
  ];
});
app.get("/c", () => [
  time.format(1795356309, "%c"), time.format(1795356309, "%x"), time.format(-0.5, "%s"),
  time.format(-2500000000, undefined, berlin), time.parse(time.format(-2500000000, undefined, berlin)),
]);
app.get("/end", () => {
  const end = time.parse("9999-12-31 23:59:59");
  const there = time.date(end - 3600, berlin);
  return [
    end, time.parse("9999-12-31T23:59:59Z") - end, time.format(end), time.format(end, "%d.%m.%Y"),
    there.year, there.day, there.hour,
    time.add(time.parse("9999-12-01"), { days: 30 }) - time.parse("9999-12-31"), time.parse(time.httpDate(end)) - end,
    time.parse("9999-12-31", "%Y-%m-%d", berlin) - time.parse("9999-12-31"),
  ];
});
app.get("/http", () => [
  time.httpDate(784111777.9), time.httpDate(0), time.parse("Sun, 06 Nov 1994 08:49:37 GMT"),
  time.parse("Sunday, 06-Nov-94 08:49:37 GMT"), time.parse("Sun Nov  6 08:49:37 1994", undefined, berlin),
  Math.abs(time.parse(time.httpDate()) - time.now()) < 100,
]);
function fault(fn) {
  try {
    fn();
    return "taken";
  } catch (error) {
    return error.message;
  }
}
app.get("/faults", () => [
  fault(() => time.parse("x")), fault(() => time.parse("1970-01-02", "%d.%m.%Y")), fault(() => time.date(0, { tz: "Mars" })),
  fault(() => time.add(0, { days: 1.5 })), fault(() => time.add(0, { years: 100000 })), fault(() => time.date(1e18)),
  fault(() => time.add(0, { day: 1 })), fault(() => time.httpDate(-1)), fault(() => time.parse("Mon, 06 Nov 1994 08:49:37 GMT")),
  fault(() => time.format(0, "%")), fault(() => time.format(1e18)),
  fault(() => time.format(0, undefined, { zone: "UTC" })), fault(() => time.format(0, "%Y".repeat(101))),
  fault(() => time.parse(" ".repeat(201))), fault(() => time.add(time.parse("9999-12-31"), { days: 1 })),
  fault(() => time.format(time.parse("9999-12-31"), "%s")), fault(() => time.parse("2026-11-22T14:05:09+24:00")),
]);
