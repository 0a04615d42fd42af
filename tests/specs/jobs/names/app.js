import { app, db } from "sampan";

const tried = (fn, ...args) => {
  try {
    fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
};
const nothing = () => {};

app.cron("0 0 29 2 *", "nightly", nothing);
const atLoad = [
  tried(app.job, "one", nothing),
  tried(app.job, "one", nothing),
  tried(app.job, "", nothing),
  tried(app.job, "sampan.mail", nothing),
  tried(app.job, "two", { attempts: 0 }, nothing),
  tried(app.job, "two", { attempts: 1.5 }, nothing),
  tried(app.job, "two", { timeout: "soon" }, nothing),
  tried(app.job, "two", { timeout: 0 }, nothing),
  tried(app.job, "two", { backoff: "900 d" }, nothing),
  tried(app.job, "two", { queue: 7 }, nothing),
  tried(app.job, "two", { unique: "yes" }, nothing),
  tried(app.job, "two", { attempt: 1 }, nothing),
  tried(app.job, "two", {}),
  tried(app.job, "two", "text", nothing),
  tried(app.job, "two", nothing, nothing),
  tried(app.job, "two", {}, nothing, nothing),
  tried(app.enqueue, "one"),
];
app.get("/at-load", () => atLoad);
app.get("/too-late", () => [tried(app.job, "three", nothing)]);

app.post("/wrong", () => {
  const cycle = {};
  cycle.cycle = cycle;
  return [
    tried(app.enqueue, "other"),
    tried(app.enqueue, "one", nothing),
    tried(app.enqueue, "one", cycle),
    tried(app.enqueue, "one", () => 1),
    tried(app.enqueue, "one", "x".repeat(2000)),
    tried(app.enqueue, "one", null, { delay: -1 }),
    tried(app.enqueue, "one", null, { delay: "9999999 d" }),
    tried(app.enqueue, "one", null, { at: "noon" }),
    tried(app.enqueue, "one", null, { priority: 5000 }),
    tried(app.enqueue, "one", null, { priority: -(2n ** 63n) }),
    tried(app.enqueue, "one", null, { unique: true }),
    tried(app.enqueue, "one", null, { later: true }),
    tried(app.enqueue, 7),
    tried(app.enqueue, "one", null, { delay: 1, at: 1 }),
    tried(app.enqueue, "cron:nightly"),
  ];
});
app.get("/table", () => ({
  count: db.query("SELECT 1 FROM sqlite_schema WHERE name LIKE '_sampan_jobs%'").length,
}));
