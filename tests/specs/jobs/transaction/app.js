import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER PRIMARY KEY, line TEXT)"); });
app.job("note", (line) => { db.exec("INSERT INTO done (line) VALUES (?)", [line]); });

app.post("/kept", async () => db.transaction(async (tx) => {
  tx.exec("INSERT INTO done (line) VALUES ('written')");
  const id = tx.enqueue("note", "from the transaction");
  const same = tx.enqueue("note", "not twice", { unique: "key", delay: "1 h" });
  await time.sleep(0.001);
  const again = tx.enqueue("note", "not twice", { unique: "key" });
  return [id > 0, same === again];
}));
app.post("/rolled-back", async () => {
  try {
    await db.transaction((tx) => {
      tx.enqueue("note", "never");
      throw new Error("no");
    });
  } catch { /* taken back */ }
  app.enqueue("note", "after");
});
const message = (fn) => {
  try {
    fn();
    return "ok";
  } catch (error) {
    return error.message;
  }
};
app.post("/wrong", async () => db.transaction((tx) => [
  message(() => app.enqueue("note", "plain")),
  message(() => tx.enqueue("other")),
]));
app.job("beside", async () => {
  await db.transaction((tx) => {
    const told = message(() => db.exec("INSERT INTO done (line) VALUES ('beside')"));
    tx.exec("INSERT INTO done (line) VALUES (?)", [/use tx/.exec(told)?.[0] ?? told]);
  });
});
app.post("/beside", () => { app.enqueue("beside"); });
app.get("/done", () => db.query("SELECT line FROM done ORDER BY id").map((row) => row.line));
