import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)"); });
app.job("note", (line) => { db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]); });

app.post("/kept", async () => db.transaction(async (tx) => {
  tx.exec("INSERT INTO done (id, line) VALUES (0, 'written')");
  const id = await tx.enqueue("note", "from the transaction");
  const same = await tx.enqueue("note", "not twice", { unique: "key", delay: "1 h" });
  await time.sleep(0.001);
  const again = await tx.enqueue("note", "not twice", { unique: "key" });
  return [id > 0, same === again];
}));
app.post("/rolled-back", async () => {
  try {
    await db.transaction(async (tx) => {
      await tx.enqueue("note", "never");
      throw new Error("no");
    });
  } catch { /* taken back */ }
  app.enqueue("note", "after");
});
const message = async (fn) => {
  try {
    await fn();
    return "ok";
  } catch (error) {
    return error.message;
  }
};
app.post("/wrong", async () => db.transaction(async (tx) => [
  await message(() => app.enqueue("note", "plain")),
  await message(() => tx.enqueue("other")),
]));
app.job("beside", async () => {
  await db.transaction(async (tx) => {
    const told = await message(() => db.exec("INSERT INTO done (id, line) SELECT count(*), 'beside' FROM done"));
    // In Node.js and Bun it is refused too, but whose transaction it is cannot be told there.
    const wanted = globalThis.process?.versions?.node === undefined ? /use tx/ : /a transaction is open/;
    const line = wanted.test(told) ? "use tx" : told;
    await tx.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]);
  });
});
app.post("/beside", () => { app.enqueue("beside"); });
app.get("/done", async () => (await db.query("SELECT line FROM done ORDER BY id")).map((row) => row.line));
