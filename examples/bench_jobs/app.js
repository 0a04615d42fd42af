// Jobs at work, as measured by `cargo xtask bench jobs`:  sampan run examples/bench_jobs/app.js
import { app, db, time } from "sampan";

const INSERT = "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)";
const PAYLOAD = '{"user":12345,"page":"/home"}';

app.job("nothing", () => {});

app.job("start", (args) => {
  db.exec("INSERT INTO starts (millis) VALUES (?)", [(time.now() - args.at) * 1000]);
});

app.job("burn", { attempts: 1 }, (args) => {
  while (time.now() < args.till);
});

const insert = () => db.exec(INSERT, ["view", PAYLOAD, time.nowMs()]);

const enqueue = () => app.enqueue("nothing", { user: 12345, page: "/home" });

app.get("/version", { version: "1.0" });

app.get("/quick", () => ({ status: "ok" }));

// A thousand jobs that do nothing.
app.post("/add", () => {
  for (let i = 0; i < 1000; i++) app.enqueue("nothing");
  return { added: 1000 };
});

app.get("/left", () => db.one("SELECT count(*) AS left FROM _sampan_jobs"));

// What a job costs in the transaction of its caller, beside what a row costs.
app.post("/insert", () => {
  insert();
  return { done: 1 };
});

app.post("/insert-insert", () => {
  insert();
  insert();
  return { done: 2 };
});

app.post("/insert-enqueue", () => {
  insert();
  enqueue();
  return { done: 2 };
});

app.post("/insert-ten", () => {
  insert();
  for (let i = 0; i < 10; i++) insert();
  return { done: 11 };
});

app.post("/enqueue-ten", () => {
  insert();
  for (let i = 0; i < 10; i++) enqueue();
  return { done: 11 };
});

app.get("/count", () => db.one("SELECT count(*) AS count FROM events"));

// The time until a job starts.
app.post("/start", () => {
  app.enqueue("start", { at: time.now() });
  return { done: 1 };
});

app.get("/starts", () => db.query("SELECT millis FROM starts ORDER BY rowid"));

// Four jobs that do nothing but use a processor.
app.post("/burn/:millis", (req) => {
  const till = time.now() + Number(req.params.millis) / 1000;
  for (let i = 0; i < 4; i++) app.enqueue("burn", { till });
  return { till };
});
