import { app, db } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (queue TEXT)"); });
const note = (queue) => { db.exec("INSERT INTO done VALUES (?)", [queue]); };

app.job("slow", { queue: "slow" }, note);

app.post("/slow", () => {
  for (let at = 0; at < 5; at++) app.enqueue("slow", "slow");
});
// Each attempt is a start.
app.job("again", { queue: "again", attempts: 5, backoff: 0 }, () => { throw new Error("once more"); });
app.post("/again", () => { app.enqueue("again"); });
app.get("/again", () => db.one("SELECT state, attempt FROM _sampan_jobs WHERE name = 'again'"));
// Each adds the next.
app.job("chain", (left) => {
  note("chain");
  if (left > 1) app.enqueue("chain", left - 1);
});
app.post("/chain", () => { app.enqueue("chain", 20); });
app.get("/done", () => db.query("SELECT queue, count(*) AS count FROM done GROUP BY queue ORDER BY queue"));
