// PostgreSQL at work, as measured by `cargo xtask bench postgres`:
//   sampan run examples/bench_postgres/app.js --db postgres://user@host/database
import { app, db, time } from "sampan";

const INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)";
const PAYLOAD = '{"user":12345,"page":"/home"}';

const now = () => Math.floor(time.nowMs() / 1000);

app.get("/row/:id", (req) =>
  db.one("SELECT id, kind, payload, ts FROM events WHERE id = ?", [Number(req.params.id)]));

app.get("/rows", () => db.query("SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20"));

app.post("/write", async () => {
  const done = await db.exec(INSERT, ["view", PAYLOAD, now()]);
  return { id: done.lastId };
});

app.post("/write-batch", async () => {
  const ts = now();
  await db.batch(() => {
    for (let i = 0; i < 10; i++) db.exec(INSERT, ["view", PAYLOAD, ts]);
  });
  return { inserted: 10 };
});

// One of 500 groups of rows, each locked as a whole, so no two transactions wait for each other.
app.post("/update", async () => {
  const first = 20 * Math.floor(Math.random() * 500) + 1;
  await db.transaction(async (tx) => {
    const rows = await tx.query("SELECT id, n FROM counters WHERE id BETWEEN ? AND ? ORDER BY id FOR UPDATE", [
      first,
      first + 19,
    ]);
    await tx.batch(() => {
      for (const row of rows) tx.exec("UPDATE counters SET n = ? WHERE id = ?", [row.n + 1, row.id]);
    });
  });
  return { updated: 20 };
});

// Not measured: after each run it tells whether everything that was acknowledged is there.
app.get("/count", () =>
  db.one("SELECT (SELECT count(*) FROM events) AS count, (SELECT sum(n) FROM counters) AS sum"));
