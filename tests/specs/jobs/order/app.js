import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER PRIMARY KEY, line TEXT)"); });
const note = (line) => { db.exec("INSERT INTO done (line) VALUES (?)", [line]); };

app.job("note", { queue: "one" }, note);
app.job("same", { queue: "one", unique: true }, note);
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
app.post("/unique", () => {
  const a = app.enqueue("same", "a");
  const b = app.enqueue("same", "a");
  const c = app.enqueue("same", "c");
  const d = app.enqueue("note", "d", { unique: "key" });
  const e = app.enqueue("note", "e", { unique: "key" });
  return [a === b, a === c, d === e];
});
app.post("/waits", () => {
  app.enqueue("wait", "a");
  app.enqueue("wait", "b");
});
app.get("/done", () => db.query("SELECT line FROM done ORDER BY id").map((row) => row.line));
app.post("/clear", () => { db.exec("DELETE FROM done"); });
