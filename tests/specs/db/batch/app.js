import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const add = (name) => db.exec("INSERT INTO t (name) VALUES (?)", [name]);
const told = async (run) => {
  try {
    await run();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code, message: error.message };
  }
};

app.get("/names", async () => (await db.query("SELECT name FROM t ORDER BY name")).map((row) => row.name));
app.get("/keep", async () => ({ result: await db.batch(() => { add("a"); add("b"); return "done"; }) }));
app.get("/throw", () => db.batch(() => { add("c"); throw new Error("no more"); }));
app.get("/caught", () => told(() => db.batch(() => { add("d"); throw { code: 7 }; })));
app.get("/nested", async () => {
  await db.batch(() => {
    add("e");
    try { db.batch(() => { add("f"); throw new Error("no more"); }); } catch { /* taken back */ }
    db.batch(() => { add("g"); });
  });
  return { ok: true };
});
app.get("/statement-inside", () => told(() => db.batch(() => {
  add("m");
  try { db.batch(() => { add("n"); add("a"); }); } catch { /* taken back */ }
  add("o");
})));
app.get("/wait", async () => {
  await add("before");
  try {
    await db.batch(async () => { add("h"); await time.sleep(0.01); });
    return { ok: true };
  } catch (error) {
    await add("behind");
    return { ok: false, message: error.message };
  }
});
app.get("/wait-inside", () => db.batch(() => {
  try {
    db.batch(() => { add("h"); return time.sleep(0.01); });
    return { ok: true };
  } catch (error) {
    add("around");
    return { ok: false, message: error.message };
  }
}));
app.get("/transaction-inside", () => told(() => db.batch(() => {
  add("around-transaction");
  const begun = db.transaction(async (tx) => { await tx.exec("INSERT INTO t (name) VALUES ('apart')"); });
  begun.catch(() => {});
})));
app.get("/transaction-behind", async () => {
  await db.batch(() => {});
  await db.transaction(async (tx) => {
    await tx.batch(() => { tx.exec("INSERT INTO t (name) VALUES ('k2')"); });
  });
  return { ok: true };
});
app.get("/endless", () => db.batch(() => { add("i"); for (;;); }));
app.get("/after-a-wait", async () => {
  await time.sleep(0.001);
  await db.batch(() => { add("j"); });
  return { n: (await db.one("SELECT count(*) AS n FROM t WHERE name = 'j'")).n };
});
app.get("/read-inside", () => db.batch(() => {
  try {
    return { ok: true, n: db.one("SELECT count(*) AS n FROM t WHERE name = 'a'").n };
  } catch (error) {
    return { ok: false, message: error.message };
  }
}));
app.get("/exec-inside", () => db.batch(() => ({ given: typeof (add("p") ?? undefined) })));
app.get("/argument", () => told(() => db.batch("x")));
app.get("/mixed", async () => {
  const other = (async () => { await 0; return add("k"); })();
  const { message } = await told(() => db.batch(() => { add("l"); throw new Error("no more"); }));
  await other;
  return { ok: true, message };
});
