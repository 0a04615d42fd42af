import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)"); });
const note = (line) => db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]);

app.job("resize", (args, job) => {
  note(`${args.file} ${args.sizes[1]} ${job.attempt} ${job.name}`);
});

app.job("wait", { queue: "slow", timeout: "5 s" }, async (args, job) => {
  await time.sleep(0.001);
  note(`waited ${args === null ? "nil" : args} ${job.key === `wait-${job.id}`}`);
});

app.job("chain", {}, async (args) => {
  await note(`chain ${args}`);
  if (args < 3) await app.enqueue("chain", args + 1);
});

app.post("/resize", async () => {
  const id = await app.enqueue("resize", { file: "a.png", sizes: [1, 2] });
  return { is_number: typeof id === "number" && id > 0 };
});
app.job("text", (args) => note(args.text));
app.post("/cut", () => { app.enqueue("text", { text: "caf\ud83d" }); });
app.post("/cut-batch", () => { app.enqueueBatch("text", [{ text: "b\ude00" }]); });
app.post("/shown", async () => {
  const id = await app.enqueue("chain", 3);
  return { shown: String(id) === id.toFixed(0) };
});
app.post("/keys", async () => {
  const first = await app.enqueue("a", null, { unique: "b c", delay: "1 h" });
  return {
    apart: first !== await app.enqueue("a b", null, { unique: "c", delay: "1 h" }),
    again: first === await app.enqueue("a", null, { unique: "b c", delay: "1 h" }),
    cancelled: await app.cancelJob(first),
  };
});
app.job("sum", { unique: true }, () => {});
app.post("/same", async () => {
  const add = (args) => app.enqueue("sum", args, { delay: "1 h" });
  const first = await add({ user: 7, year: { from: 1, to: { month: 2, day: 3 } } });
  const list = Array.from({ length: 400 }, () => Math.random().toFixed(14));
  const long = await add(list);
  return {
    same: first === await add({ year: { to: { day: 3, month: 2 }, from: 1 }, user: 7 }),
    other: first !== await add({ user: 7, year: { from: 1, to: { month: 3, day: 2 } } }),
    long: long === await add(list),
    apart: long !== first,
    cancelled: await app.cancelJob(long),
    free: long !== await add(list),
  };
});
app.job("a", () => {});
app.job("a b", () => {});
app.post("/wait", () => { app.enqueue("wait"); });
app.post("/chain", () => { app.enqueue("chain", 1); });
app.get("/get", () => { app.enqueue("chain", 3); });
app.post("/thrown", () => {
  try {
    db.batch(() => {
      note("never");
      app.enqueue("resize", { file: "never", sizes: [1, 2] });
      throw new Error("no");
    });
  } catch { /* taken back */ }
  db.batch(() => { app.enqueue("resize", { file: "kept", sizes: [1, 2] }); });
});
app.get("/done", async () => (await db.query("SELECT line FROM done ORDER BY id")).map((row) => row.line));
app.post("/clear", () => { db.exec("DELETE FROM done"); });
app.get("/left", () => db.query("SELECT name, state FROM _sampan_jobs"));
