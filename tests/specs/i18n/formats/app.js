import { app, stream } from "sampan";

app.get("/", (req) => [
  req.formatNumber(1234567.8915), req.formatNumber(0.5, { decimals: 2 }), req.formatDate("2010-09-07"),
  req.formatDate("2010-09-07 14:05:09", { style: "short", time: true }), req.formatDate(0, { style: "full" }),
]);
app.get("/numbers", (req) => [
  req.formatNumber(0), req.formatNumber(-0.0004), req.formatNumber(2.5, { decimals: 0 }), req.formatNumber(-1e15),
  req.formatNumber(9007199254740993n), req.formatNumber(1e300).slice(0, 9), req.formatNumber(0.1 + 0.2),
]);
app.get("/late", (req) => stream(async (write) => { await write(req.formatNumber(1.5)); }));
app.get("/faults", (req) => [
  () => req.formatNumber(0 / 0), () => req.formatNumber(1, { decimals: 21 }), () => req.formatNumber(1, { digits: 1 }),
  () => req.formatDate("yesterday"), () => req.formatDate("2026-02-30"), () => req.formatDate(1e18),
  () => req.formatDate("2026-02-20", { style: "tall" }), () => req.formatDate([1]),
].map((fn) => {
  try {
    fn();
    return "taken";
  } catch (error) {
    return error.message;
  }
}));
