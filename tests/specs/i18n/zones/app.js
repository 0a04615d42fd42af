import { app } from "sampan";

app.get("/", (req) => {
  const tz = { tz: "Europe/Berlin", style: "short", time: true };
  return [
    req.formatDate(1751364000, tz), req.formatDate("2025-07-01 10:00:00", tz), req.formatDate("2025-12-31T23:30:00Z", tz),
    req.formatDate("2025-07-01", tz), req.formatNumber(12.5, { currency: "EUR" }), req.formatNumber(-1234, { currency: "JPY" }),
    req.formatNumber(12.345, { currency: "USD", decimals: 3 }), req.formatNumber(1, { currency: "XYZ" }),
  ];
});
app.get("/offsets", (req) => ["+02", "+0530", "-04:00"].map((offset) =>
  req.formatDate(`2025-07-01T12:00:00${offset}`, { tz: "Europe/Berlin", style: "short", time: true })));
app.get("/page", (req) => req.render("page.txt", { at: 1751364000 }));
function fault(fn) {
  try {
    fn();
    return "taken";
  } catch (error) {
    return error.message;
  }
}
app.get("/faults", (req) => [
  fault(() => req.formatDate(0, { tz: "Europe/Nowhere" })), fault(() => req.formatDate(0, { tz: 1 })),
  fault(() => req.formatNumber(1, { currency: "euro" })), fault(() => req.formatDate("2025-07-01 10:00:00+99:99")),
]);
