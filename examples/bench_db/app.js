// The database at work, as measured by `cargo xtask bench db`:  sampan run examples/bench_db/app.js
import { app, db, time } from "sampan";

const INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)";
const NEWEST = "SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20";
const PAYLOAD = '{"user":12345,"page":"/home"}';

app.post("/write", () => {
  const done = db.exec(INSERT, ["view", PAYLOAD, time.nowMs()]);
  return { id: done.lastId };
});

app.post("/write-batch", () => {
  const now = time.nowMs();
  db.batch(() => {
    for (let i = 0; i < 10; i++) db.exec(INSERT, ["view", PAYLOAD, now]);
  });
  return { inserted: 10 };
});

app.get("/read", () => db.query(NEWEST));

app.get("/mixed", () => {
  db.exec(INSERT, ["view", PAYLOAD, time.nowMs()]);
  return db.query(NEWEST);
});

// Not measured: after each run it tells whether everything that was acknowledged is there.
app.get("/count", () => db.one("SELECT count(*) AS count FROM events"));
