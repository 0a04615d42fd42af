import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const add = (name) => db.exec("INSERT INTO t (name) VALUES (?)", [name]);

app.get("/names", () => db.query("SELECT name FROM t ORDER BY name").map((row) => row.name));
app.get("/keep", () => ({ result: db.batch(() => { add("a"); add("b"); return "done"; }) }));
app.get("/throw", () => db.batch(() => { add("c"); throw new Error("no more"); }));
app.get("/caught", () => {
  try {
    db.batch(() => { add("d"); throw { code: 7 }; });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/nested", () => {
  db.batch(() => {
    add("e");
    try { db.batch(() => { add("f"); add("a"); }); } catch { /* taken back */ }
    db.batch(() => { add("g"); });
  });
  return { ok: true };
});
app.get("/wait", () => {
  add("before");
  try {
    db.batch(async () => { add("h"); await time.sleep(0.01); });
    return { ok: true };
  } catch (error) {
    add("behind");
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
app.get("/transaction-inside", async () => {
  try {
    await db.batch(() => {
      add("around-transaction");
      const begun = db.transaction(async (tx) => { tx.exec("INSERT INTO t (name) VALUES ('apart')"); });
      begun.catch(() => {});
    });
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/transaction-behind", async () => {
  db.batch(() => {});
  await db.transaction(async (tx) => { tx.batch(() => { tx.exec("INSERT INTO t (name) VALUES ('k2')"); }); });
  return { ok: true };
});
app.get("/endless", () => db.batch(() => { add("i"); for (;;); }));
app.get("/after-a-wait", async () => {
  await time.sleep(0.001);
  return db.batch(() => {
    add("j");
    return { n: db.one("SELECT count(*) AS n FROM t WHERE name = 'j'").n };
  });
});
app.get("/argument", () => {
  try {
    db.batch("x");
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/mixed", async () => {
  const other = (async () => { await 0; return add("k"); })();
  let message = "";
  try {
    db.batch(() => { add("l"); throw new Error("no more"); });
  } catch (error) {
    message = error.message;
  }
  await other;
  return { ok: true, message };
});
