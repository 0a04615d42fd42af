import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");
db.exec("CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)");
db.exec(`CREATE TABLE IF NOT EXISTS child (
  parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)`);

const ADD = "INSERT INTO t (name) VALUES (?)";
const TABLES = db.dialect() === "sqlite" ? "sqlite_schema" : "(SELECT relname AS name FROM pg_class) AS tables";
const told = async (run) => {
  try {
    await run();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code, message: error.message };
  }
};
const count = async () => (await db.one("SELECT count(*) AS n FROM t")).n;

app.get("/names", async () => (await db.query("SELECT name FROM t ORDER BY name")).map((row) => row.name));
app.get("/keep", () => db.transaction(async (tx) => {
  const done = await tx.exec(ADD, ["a"]);
  await time.sleep(0.01);
  const row = await tx.one("INSERT INTO t (name) VALUES ('b') RETURNING name");
  const inside = (await tx.query("SELECT * FROM t")).length;
  return { changes: done.changes, name: row.name, inside, outside: await count() };
}));
app.get("/throw", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["c"]);
  await time.sleep(0.001);
  throw new Error("no more");
}));
app.get("/caught", async () => {
  try {
    await db.transaction(async (tx) => { await tx.exec(ADD, ["d"]); throw { code: 7 }; });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/batch", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["e"]);
  let ok = true;
  try {
    await tx.batch((inner) => { inner.exec(ADD, ["f"]); inner.exec(ADD, ["e"]); });
  } catch {
    ok = false;
  }
  const kept = await tx.batch(() => { tx.exec(ADD, ["g"]); return "kept"; });
  return { ok, kept };
}));
app.get("/batch-waits", () => db.transaction((tx) => told(() => tx.batch(async () => { await time.sleep(0.01); }))));
app.get("/unique", () => told(() => db.transaction(async (tx) => {
  await tx.exec(ADD, ["h"]);
  await tx.exec(ADD, ["a"]);
})));
app.get("/goes-on", async () => {
  let failed, behind;
  const left = await told(() => db.transaction(async (tx) => {
    failed = await told(() => tx.exec(ADD, ["a"]));
    behind = await told(() => tx.exec(ADD, ["i"]));
  }));
  return { failed: failed.code, behind: behind.code ?? null, left: left.code ?? null };
});
app.get("/goes-on-behind-a-batch", () => db.transaction(async (tx) => {
  const failed = await told(() => tx.batch(() => { tx.exec(ADD, ["a"]); }));
  await tx.exec(ADD, ["s"]);
  return { failed: failed.code };
}));
app.get("/undone", async () => {
  let last;
  const left = await told(() => db.transaction(async (tx) => {
    await tx.exec(ADD, ["j"]);
    await told(() => tx.exec("INSERT OR ROLLBACK INTO t (name) VALUES ('a')"));
    last = await told(() => tx.exec(ADD, ["k"]));
  }));
  return { left, last };
});
app.get("/deferred", () => told(() => db.transaction(async (tx) => {
  await tx.exec("INSERT INTO child (parent) VALUES (7)");
})));
app.get("/deferred-kept", () => db.transaction(async (tx) => {
  await tx.exec("INSERT INTO child (parent) VALUES (8)");
  await time.sleep(0.001);
  await tx.exec("INSERT INTO parent (id) VALUES (8)");
  return { ok: true };
}));
app.get("/plain-inside", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["l"]);
  return told(() => db.exec(ADD, ["m"]));
}));
app.get("/batch-inside", () => db.transaction(() => told(() => db.batch(() => {}))));
app.get("/two", () => db.transaction(() => told(() => db.transaction(() => {}))));
app.get("/one-after-the-other", async () => {
  for (const name of ["n", "o"]) await db.transaction(async (tx) => { await tx.exec(ADD, [name]); });
  await db.exec(ADD, ["p"]);
  return { ok: true };
});
app.get("/plain-before", async () => {
  await db.exec(ADD, ["q"]);
  return db.transaction(async (tx) => {
    await tx.exec(ADD, ["r"]);
    return { seen: (await tx.query("SELECT * FROM t WHERE name = 'q'")).length };
  });
});
app.get("/in-a-batch", () => told(() => db.batch(() => db.transaction(() => {}))));
app.get("/no-function", () => told(() => db.transaction("x")));
app.get("/wrong-argument", () => db.transaction((tx) => told(() => tx.exec(7))));
app.get("/control", () => db.transaction((tx) => told(() => tx.exec("COMMIT"))));
app.get("/schema", async () => {
  await told(() => db.transaction(async (tx) => {
    await tx.exec("CREATE TABLE gone (x INTEGER)");
    throw new Error("no more");
  }));
  await db.transaction(async (tx) => {
    await tx.exec("CREATE TABLE made (x INTEGER)");
    await tx.exec("INSERT INTO made VALUES (1)");
  });
  return db.query(`SELECT name FROM ${TABLES} WHERE name IN ('gone', 'made')`);
});
