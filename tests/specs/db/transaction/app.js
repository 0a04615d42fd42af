import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");
db.exec("CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)");
db.exec(`CREATE TABLE IF NOT EXISTS child (
  parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)`);

const ADD = "INSERT INTO t (name) VALUES (?)";
const told = async (run) => {
  try {
    await run();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code, message: error.message };
  }
};
const count = () => db.one("SELECT count(*) AS n FROM t").n;

app.get("/names", () => db.query("SELECT name FROM t ORDER BY name").map((row) => row.name));
app.get("/keep", () => db.transaction(async (tx) => {
  const done = tx.exec(ADD, ["a"]);
  await time.sleep(0.01);
  const row = tx.one("INSERT INTO t (name) VALUES ('b') RETURNING name");
  return { changes: done.changes, name: row.name, inside: tx.query("SELECT * FROM t").length, outside: count() };
}));
app.get("/throw", () => db.transaction(async (tx) => {
  tx.exec(ADD, ["c"]);
  await time.sleep(0.001);
  throw new Error("no more");
}));
app.get("/caught", async () => {
  try {
    await db.transaction((tx) => { tx.exec(ADD, ["d"]); throw { code: 7 }; });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/batch", () => db.transaction((tx) => {
  tx.exec(ADD, ["e"]);
  let ok = true;
  try {
    tx.batch((inner) => { inner.exec(ADD, ["f"]); inner.exec(ADD, ["e"]); });
  } catch {
    ok = false;
  }
  const kept = tx.batch(() => { tx.exec(ADD, ["g"]); return "kept"; });
  return { ok, kept };
}));
app.get("/batch-waits", () => db.transaction((tx) => told(() => tx.batch(async () => { await time.sleep(0.01); }))));
app.get("/unique", () => told(() => db.transaction((tx) => { tx.exec(ADD, ["h"]); tx.exec(ADD, ["a"]); })));
app.get("/goes-on", () => db.transaction(async (tx) => {
  const failed = await told(() => tx.exec(ADD, ["a"]));
  tx.exec(ADD, ["i"]);
  return failed;
}));
app.get("/undone", async () => {
  let last;
  const left = await told(() => db.transaction(async (tx) => {
    tx.exec(ADD, ["j"]);
    await told(() => tx.exec("INSERT OR ROLLBACK INTO t (name) VALUES ('a')"));
    last = await told(() => tx.exec(ADD, ["k"]));
  }));
  return { left, last };
});
app.get("/deferred", () => told(() => db.transaction((tx) => { tx.exec("INSERT INTO child (parent) VALUES (7)"); })));
app.get("/deferred-kept", () => db.transaction(async (tx) => {
  tx.exec("INSERT INTO child (parent) VALUES (8)");
  await time.sleep(0.001);
  tx.exec("INSERT INTO parent (id) VALUES (8)");
  return { ok: true };
}));
app.get("/plain-inside", () => db.transaction((tx) => {
  tx.exec(ADD, ["l"]);
  return told(() => db.exec(ADD, ["m"]));
}));
app.get("/batch-inside", () => db.transaction(() => told(() => db.batch(() => {}))));
app.get("/two", () => db.transaction(() => told(() => db.transaction(() => {}))));
app.get("/one-after-the-other", async () => {
  for (const name of ["n", "o"]) await db.transaction((tx) => { tx.exec(ADD, [name]); });
  db.exec(ADD, ["p"]);
  return { ok: true };
});
app.get("/plain-before", () => {
  db.exec(ADD, ["q"]);
  return db.transaction((tx) => {
    tx.exec(ADD, ["r"]);
    return { seen: tx.query("SELECT * FROM t WHERE name = 'q'").length };
  });
});
app.get("/in-a-batch", () => told(() => db.batch(() => db.transaction(() => {}))));
app.get("/no-function", () => told(() => db.transaction("x")));
app.get("/wrong-argument", () => db.transaction((tx) => told(() => tx.exec(7))));
app.get("/control", () => db.transaction((tx) => told(() => tx.exec("COMMIT"))));
app.get("/schema", async () => {
  await told(() => db.transaction((tx) => { tx.exec("CREATE TABLE gone (x)"); throw new Error("no more"); }));
  await db.transaction((tx) => { tx.exec("CREATE TABLE made (x)"); tx.exec("INSERT INTO made VALUES (1)"); });
  return db.query("SELECT name FROM sqlite_schema WHERE name IN ('gone', 'made')");
});
