import { app, db } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER PRIMARY KEY, line TEXT)"); });
const note = (line) => db.exec("INSERT INTO done (line) VALUES (?)", [line]);

app.job("third", { backoff: 0.005 }, (_, job) => {
  note(`attempt ${job.attempt}`);
  if (job.attempt < 3) throw new Error("not yet");
});
app.job("dead", { attempts: 2, backoff: 0 }, async (args) => {
  if (args === "text") throw "a text";
  if (args === "table") throw { code: 7 };
  if (args === "nothing") throw undefined;
  throw new Error("broken");
});
app.job("again", { backoff: "1 h", attempts: 3 }, (_, job) => {
  note(`again ${job.attempt}`);
  if (job.attempt === 1) {
    job.retryIn(0.001);
    throw new Error("soon");
  }
  if (job.attempt === 2) job.retryIn("1 ms");
});
const message = (fn) => {
  try {
    fn();
    return "true";
  } catch (error) {
    return error.message;
  }
};
let kept;
app.job("keep", (_, job) => {
  if (kept) note(`false ${message(() => kept.progress(1)).match("this Job is over")}`);
  note(`false ${message(() => { job.other = 1; }).match("only read")}`);
  const set = message(() => { job.set("id", 1); });
  note(`${job.keys().join(" ")} ${job.get("attempt")} ${set === "true"}`);
  job.progress(50, "half");
  kept = job;
});

app.post("/add/:name", (req) => { app.enqueue(req.params.name, req.query.args); });
app.get("/done", () => db.query("SELECT line FROM done ORDER BY id").map((row) => row.line));
app.post("/clear", () => { db.exec("DELETE FROM done"); });
app.get("/dead", () => {
  const row = db.one("SELECT count(*) AS count, group_concat(errors) AS errors FROM _sampan_jobs WHERE state = 'dead'");
  return { count: row.count, errors: row.errors };
});
