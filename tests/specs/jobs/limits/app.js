import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)"); });
const note = (line) => { db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]); };

app.job("spin", { attempts: 1, timeout: 0.1 }, () => { for (;;); });
app.job("wait", { attempts: 1, timeout: 0.05 }, async () => { await time.sleep(60); });
app.job("write", { attempts: 1, timeout: "1 h" }, () => {
  note("spins after a write");
  for (;;);
});
app.job("leak", { attempts: 1 }, () => {
  const all = [];
  for (;;) all.push("x".repeat(1000000) + all.length);
});
app.job("long", { timeout: "1 m" }, () => {
  const until = time.nowMs() + 600;
  while (time.nowMs() < until);
  note("long");
});

app.post("/add/:name", (req) => { app.enqueue(req.params.name); });
app.get("/done", async () => (await db.query("SELECT line FROM done ORDER BY id")).map((row) => row.line));
app.get("/dead/:name", async (req) => {
  const row = await db.one("SELECT errors FROM _sampan_jobs WHERE state = 'dead' AND name = ?", [req.params.name]);
  return { errors: row?.errors };
});
app.get("/ping", () => "pong");
