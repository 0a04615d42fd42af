import { app, db, time } from "sampan";
const nothing = () => {};

const tried = (fn, ...args) => {
  try {
    fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
};

app.cron("0 3 * * *", "nightly", { tz: "Europe/Berlin", missed: "skip", attempts: 3 }, nothing);

const atLoad = [
  tried(app.cron, "@hourly", "nightly", nothing),
  tried(app.cron, "0 3 * *", "short", nothing),
  tried(app.cron, "0 25 * * *", "late", nothing),
  tried(app.cron, "swapped", "0 3 * * *", nothing),
  tried(app.cron, "0 3 31 2 *", "never", nothing),
  tried(app.cron, "0 3 * * *", "nowhere", { tz: "Europe/Atlantis" }, nothing),
  tried(app.cron, "0 3 * * *", "missed", { missed: "all" }, nothing),
  tried(app.cron, "0 3 * * *", "option", { zone: "UTC" }, nothing),
  tried(app.cron, "0 3 * * *", "without", {}),
  tried(app.cron, "0 3 * * *", "two", nothing, nothing),
  tried(app.cron, "@nightly", "named", nothing),
  tried(app.cron, "0 3 * * *", "", nothing),
  tried(app.job, "cron:nightly", nothing),
];
app.get("/at-load", () => atLoad);
app.get("/crons", () => db.query("SELECT name, pattern, zone, next > ? AS is_later FROM _sampan_cron_times", [time.nowMs()]));
