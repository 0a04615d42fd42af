import { app, metrics } from "sampan";

// The place of each declaration is known.
const orders = metrics.counter("orders_total", { help: "Orders.", labels: ["kind", "is_new"] });
const counter = metrics.counter("visits_total");
const gauge = metrics.gauge("open_things", { help: "Things that are open." });
const waits = metrics.histogram("wait_seconds", { help: "Waits.", labels: ["place"], buckets: [0.5, 1] });
const histogram = metrics.histogram("default_seconds");
const again = metrics.counter("visits_total", {});

const declared = {};
function fault(name, fn) {
  try {
    fn();
  } catch (error) {
    declared[name] = error.message;
  }
}
fault("shape", () => metrics.counter("visits_total", { labels: ["a"] }));
fault("kind", () => metrics.gauge("visits_total"));
fault("name", () => metrics.counter("7 visits"));
fault("own", () => metrics.gauge("sampan_mine"));
fault("label", () => metrics.histogram("a_seconds", { labels: ["le"] }));
fault("twice", () => metrics.counter("a_total", { labels: ["b", "b"] }));
fault("buckets", () => metrics.histogram("a_seconds", { buckets: [2, 1] }));
fault("option", () => metrics.counter("a_total", { buckets: [1] }));
fault("part", () => metrics.counter("wait_seconds_count"));

app.get("/work", () => {
  orders.inc(1, { kind: 'a"b', is_new: true });
  orders.inc(2.5, { kind: 'a"b', is_new: true });
  counter.inc();
  again.inc(2);
  gauge.set(5);
  gauge.inc();
  gauge.dec(3);
  waits.observe(0.25, { place: 7 });
  waits.observe(3, { place: 7 });
  histogram.observe(0.3);
  for (let i = 1; i <= 1100; i += 1) orders.inc(1, { kind: `k${i}`, is_new: false });
  orders.inc(1, { kind: "x".repeat(300), is_new: false });
  return "done";
});
app.get("/text", (req) => metrics.text().split("\n")
  .filter((line) => line.startsWith(req.query.begin)).slice(0, 12));
app.get("/declared", () => declared);
app.get("/late", () => { metrics.counter("late_total"); });
app.get("/known", () => { metrics.counter("visits_total").inc(0); return "known"; });
app.get("/negative", () => { counter.inc(-1); });
app.get("/nan", () => { gauge.set(NaN); });
app.get("/huge", () => { counter.inc(1e308); });
app.get("/missing", () => { waits.observe(1); });
app.get("/unknown", () => { counter.inc(1, { kind: "a" }); });
app.get("/value", () => { waits.observe(1, { place: {} }); });
