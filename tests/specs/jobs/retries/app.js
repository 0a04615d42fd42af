import { app, db } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)"); });
const note = (line) => db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]);

app.job("third", { backoff: 0.005 }, async (_, job) => {
  await note(`attempt ${job.attempt}`);
  if (job.attempt < 3) throw new Error("not yet");
});
app.job("dead", { attempts: 2, backoff: 0 }, async (args) => {
  if (args === "text") throw "a text";
  if (args === "table") throw { code: 7 };
  if (args === "nothing") throw undefined;
  throw new Error("broken");
});
app.job("again", { backoff: "1 h", attempts: 3 }, async (_, job) => {
  await note(`again ${job.attempt}`);
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
app.job("keep", async (_, job) => {
  if (kept) await note(`false ${message(() => kept.progress(1)).match("this Job is over")}`);
  await note(`false ${message(() => { job.other = 1; }).match("only read")}`);
  const set = message(() => { job.set("id", 1); });
  await note(`${job.keys().join(" ")} ${job.get("attempt")} ${set === "true"}`);
  job.progress(50, "half");
  kept = job;
});

app.post("/add/:name", (req) => { app.enqueue(req.params.name, req.query.args); });
app.get("/done", async () => (await db.query("SELECT line FROM done ORDER BY id")).map((row) => row.line));
app.get("/waiting", async () => {
  const rows = await db.query("SELECT id FROM _sampan_jobs WHERE name = 'keep' AND ended IS NULL");
  return rows.length;
});
app.post("/clear", () => { db.exec("DELETE FROM done"); });
app.get("/dead", async () => {
  const rows = await db.query("SELECT errors FROM _sampan_jobs WHERE state = 'dead'");
  return { count: rows.length, errors: rows.map((row) => row.errors).join(",") };
});
