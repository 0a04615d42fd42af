// Streams whose function begins with a transaction.
import { app, db, stream, time } from "sampan";

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS streamed (name TEXT)"); });

const add = (tx, name) => tx.exec("INSERT INTO streamed (name) VALUES (?)", [name]);

app.get("/first", () => stream(async (write) => {
  await db.transaction(async (tx) => { await add(tx, "first"); });
  await write("done");
}));
app.get("/waits", () => stream(async (write) => {
  await db.transaction(async (tx) => {
    await add(tx, "waits");
    await time.sleep(0.002);
  });
  await db.transaction(async (tx) => { await add(tx, "again"); });
  await write("done");
}));
app.get("/caught", () => stream(async (write) => {
  try {
    await db.transaction(async (tx) => {
      await add(tx, "lost");
      throw new Error("no");
    });
  } catch (error) {
    await write(error.message);
  }
}));
app.get("/nothing", () => stream(async () => {
  await db.transaction(async (tx) => { await add(tx, "nothing"); });
}));
app.get("/names", async () => {
  const rows = await db.query("SELECT name FROM streamed ORDER BY name");
  return rows.map((row) => row.name);
});
