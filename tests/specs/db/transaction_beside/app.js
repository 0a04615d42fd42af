// Runs beside an open transaction that are not a request's handler.
import { app, db, session, stream, time } from "sampan";

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS seen (name TEXT)"); });

const add = (name) => db.exec("INSERT INTO seen (name) VALUES (?)", [name]);
const OK = { ok: true };

app.get("/has/:name", async (req) => {
  const rows = await db.query("SELECT name FROM seen WHERE name = ?", [req.params.name]);
  return { has: rows.length > 0 };
});
app.get("/hold", () => db.transaction(async (tx) => {
  await tx.exec("INSERT INTO seen (name) VALUES ('held')");
  await time.sleep(0.4);
  return OK;
}));

app.ws("/socket", {
  async message(ws, name) {
    await add(name);
    ws.send("kept");
  },
});
app.subscribe("news", async (name) => { await add(name); }, { once: true });
app.get("/publish/:name", async (req) => {
  await app.publish("news", req.params.name);
  return OK;
});
app.job("keep", { attempts: 1 }, async (name) => {
  await time.sleep(0.3);
  await add(name);
});
app.get("/enqueue/:name", async (req) => {
  await app.enqueue("keep", req.params.name);
  return OK;
});
app.get("/end-all", async () => {
  await session.endAll({ user: 7 });
  return OK;
});
app.get("/stream/:name", (req) => stream(async (write) => {
  await write("before ");
  await time.sleep(0.05);
  await add(req.params.name);
  await write("after");
}));
app.sse("/feed/:name", async (req, events) => {
  await time.sleep(0.05);
  await add(req.params.name);
  await events.send("kept");
});

let settle;
/** Lets the transaction go on, which may not have begun to wait. */
const settles = async () => {
  while (!settle) await time.sleep(0.01);
  settle();
  settle = undefined;
};
app.get("/waits", () => db.transaction(async (tx) => {
  await tx.exec("INSERT INTO seen (name) VALUES ('waited')");
  await new Promise((resolve) => { settle = resolve; });
  return OK;
}));
app.get("/settles", async () => {
  await settles();
  return OK;
});
app.get("/settles-and-writes", async () => {
  await settles();
  const later = async () => {
    await time.sleep(0.05);
    await add("later");
  };
  later().catch(() => {});
  return OK;
});
