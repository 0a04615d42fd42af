import { app, db, log, json, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";
let kept;
const told = async (run) => {
  try {
    await run();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code, message: error.message };
  }
};

app.get("/names", async () => (await db.query("SELECT name FROM t ORDER BY name")).map((row) => row.name));
app.get("/add/:name", async (req) => {
  await db.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.get("/keep", async () => {
  await db.transaction(async (tx) => { kept = tx; await tx.exec(ADD, ["kept"]); });
  return told(() => kept.exec(ADD, ["late"]));
});
app.get("/use-kept", () => told(() => kept.exec(ADD, ["later"])));
app.get("/batch-kept", () => told(() => kept.batch(() => {})));
app.get("/hold", async () => {
  await db.transaction(async (tx) => { kept = tx; await tx.exec(ADD, ["held"]); await time.sleep(0.5); });
  return { ok: true };
});
app.get("/late", async () => {
  let inside;
  const left = await told(() => db.transaction(async (tx) => {
    await tx.exec(ADD, ["late"]);
    await time.sleep(1.8);
    inside = await told(() => tx.exec(ADD, ["later"]));
  }));
  return { inside, left };
});
app.get("/late-and-wrong", () => told(() => db.transaction(async (tx) => {
  await tx.exec(ADD, ["late"]);
  await time.sleep(1.8);
  throw new Error("no more");
})));
app.get("/uncaught-late", () => db.transaction(() => time.sleep(1.8)));
app.get("/stay", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["left"]);
  await time.sleep(0.4);
  await tx.exec(ADD, ["left behind"]);
}));
let swallowed;
app.get("/swallow", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["swallowed"]);
  let cause;
  try { await time.sleep(1.5); } catch (error) { cause = error.code; }
  swallowed = { ...await told(() => tx.exec(ADD, ["behind"])), cause };
  await time.sleep(0.2);
}));
app.get("/swallowed", () => swallowed ?? {});
app.get("/endless", () => db.transaction(async (tx) => { await tx.exec(ADD, ["endless"]); for (;;); }));
app.get("/endless-batch", () => db.transaction((tx) => tx.batch(() => { tx.exec(ADD, ["endless"]); for (;;); })));
app.get("/slow-statement", async () => {
  const ended = await told(() => db.transaction(async (tx) => {
    await tx.query("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  }));
  // On a busy machine a script may run longer than its limit, so that the transaction's passes first.
  if (ended.code === "timeout") throw Object.assign(new Error("too late"), { status: 503 });
  return ended;
});
app.get("/never-resumed", async () => {
  const yielded = await new Promise((resolve) => {
    void db.transaction(async (tx) => { await tx.exec(ADD, ["never"]); resolve(1); await new Promise(() => {}); });
  });
  return { yielded };
});
app.get("/not-awaited", async () => {
  await new Promise((begun) => {
    void db.transaction(async () => { begun(); await time.sleep(0.1); });
  });
  return { begun: true };
});
app.get("/chunk", () => app.stream(async (write) => {
  await write("before ");
  await db.transaction(async (tx) => {
    await tx.exec(ADD, ["chunk"]);
    await write("inside ");
  });
  await write("outside");
}));
app.get("/json", () => db.transaction((tx) => told(() => json.encode({ tx }))));
app.get("/answer", () => db.transaction((tx) => ({ tx })));
app.get("/parameter", () => db.transaction((tx) => told(() => tx.exec(ADD, [tx]))));
app.get("/shown", () => db.transaction((tx) => {
  log.info("a transaction", { tx });
  let cloned = "cloned";
  try { structuredClone({ tx }); } catch (error) { cloned = error.message; }
  let made = "made";
  try { new tx.constructor(); } catch { made = "not made"; }
  return { text: String(tx), missing: typeof tx.nothing, cloned, made, keys: Object.keys(tx) };
}));
app.get("/on-nothing", () => db.transaction((tx) => { const { exec } = tx; return told(() => exec(ADD, ["x"])); }));
app.get("/on-another", () => db.transaction((tx) => told(() => Object.create(tx).exec(ADD, ["x"]))));
