// What depends on a transaction that nobody waits for, or that is another request's.
import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";
let kept;

app.get("/names", async () => (await db.query("SELECT name FROM t ORDER BY name")).map((row) => row.name));
app.get("/hold/:how", async (req) => {
  const { how } = req.params;
  try {
    await db.transaction(async (tx) => {
      kept = tx;
      tx.exec(ADD, [`held ${how}`]);
      await time.sleep(0.8);
      if (how === "fails") throw new Error("no more");
    });
    return { ok: true };
  } catch (error) {
    return { ok: false };
  }
});
app.get("/use/:name", (req) => {
  kept.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.get("/see", () => kept.query("SELECT name FROM t ORDER BY name"));
app.get("/use-and-wait/:name", async (req) => {
  kept.exec(ADD, [req.params.name]);
  await time.sleep(1);
  return { ok: true };
});
app.get("/stream/:name", (req) => app.stream(async (write) => {
  await write("before ");
  if (req.params.name !== "none") kept.exec(ADD, [req.params.name]);
  await write("after");
}));
const notAwaited = (how) => {
  db.transaction(async (tx) => {
    await time.sleep(0.2);
    tx.exec(ADD, [`not awaited ${how}`]);
    if (how.includes("fails")) throw new Error("no more");
  }).catch(() => {});
};
app.get("/not-awaited/:how", (req) => {
  notAwaited(req.params.how);
  return { ok: true };
});
app.get("/stream-not-awaited/:how", (req) => app.stream(async (write) => {
  await write("before");
  notAwaited(req.params.how);
}));
app.ws("/socket-not-awaited/:how", {
  upgrade(req) { notAwaited(req.params.how); },
  open(ws) { ws.send("open"); },
});
