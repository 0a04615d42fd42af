import { app, db, time } from "sampan";

app.onStart(async () => {
  await db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)");
  await db.exec("CREATE TABLE IF NOT EXISTS free (queue TEXT)");
});
// A job ends with what it has begun, also where its function does not wait for that.
const note = (line) => { db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]); };

app.job("note", { queue: "one" }, note);
app.job("same", { queue: "one", unique: true }, note);
// Keeps its queue busy until it is told.
app.job("hold", { queue: "one" }, async () => {
  while ((await db.query("SELECT queue FROM free")).length === 0) await time.sleep(0.005);
});
app.job("wait", { queue: "two" }, async (args) => {
  note(`begin ${args}`);
  await time.sleep(0.02);
  note(`end ${args}`);
});

app.post("/priorities", () => db.batch(() => {
  app.enqueue("note", "third", { priority: -1 });
  app.enqueue("note", "second");
  app.enqueue("note", "first", { priority: 5 });
  app.enqueue("note", "last", { delay: 0.05, priority: -9 });
  app.enqueue("note", "never", { at: time.now() + 1000 });
}));
app.post("/unique", async () => {
  await app.enqueue("hold", null, { priority: 9 });
  const a = await app.enqueue("same", "a");
  const b = await app.enqueue("same", "a");
  const c = await app.enqueue("same", "c");
  const d = await app.enqueue("note", "d", { unique: "key" });
  const e = await app.enqueue("note", "e", { unique: "key" });
  await db.exec("INSERT INTO free (queue) VALUES ('one')");
  return [a === b, a === c, d === e];
});
app.post("/waits", async () => {
  await app.enqueue("wait", "a");
  await app.enqueue("wait", "b");
});
app.get("/done", async () => (await db.query("SELECT line FROM done ORDER BY id")).map((row) => row.line));
app.post("/clear", () => { db.exec("DELETE FROM done"); });
