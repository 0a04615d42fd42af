// Written so that it runs on SQLite and on PostgreSQL.
import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, done INTEGER DEFAULT 0)");
const atStart = db.one("SELECT count(*) AS n FROM notes");

const insert = "INSERT INTO notes (id, title) VALUES (?, ?)";
const failure = async (work) => {
  try {
    await work();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code, columns: error.columns, message: error.message };
  }
};

app.get("/at-start", () => ({ n: atStart.n }));
app.get("/titles", async () => (await db.query("SELECT title FROM notes ORDER BY id")).map((row) => row.title));
app.post("/add/:id/:title", async (req) => {
  const done = await db.exec(insert, [Number(req.params.id), req.params.title]);
  return { changes: done.changes };
});
app.get("/one/:id", async (req) => ({
  row: await db.one("SELECT id, title FROM notes WHERE id = :id", { id: Number(req.params.id) }),
}));
app.post("/rename", async () => {
  const { changes } = await db.exec("UPDATE notes SET title = title || '!' WHERE id <= ?", [2]);
  return { changes };
});
app.post("/returning", () => db.query("UPDATE notes SET done = 1 WHERE id = ? RETURNING id, done", [1]));
app.post("/taken", async () => {
  const { ok, code, columns } = await failure(() => db.exec(insert, [9, "a!"]));
  return { ok, code, columns };
});
app.post("/empty", async () => {
  const { ok, code } = await failure(() => db.exec(insert, [9, null]));
  return { ok, code };
});
app.post("/batch", async () => ({
  result: await db.batch(() => {
    db.exec(insert, [3, "c"]);
    try {
      db.batch(() => { db.exec(insert, [4, "not"]); throw new Error("no"); });
    } catch { /* taken back */ }
    db.batch(() => { db.exec(insert, [5, "e"]); });
    return "done";
  }),
}));
app.post("/batch-throws", async () => {
  const { ok } = await failure(() => db.batch(() => { db.exec(insert, [6, "not"]); throw new Error("no"); }));
  return { ok };
});
app.post("/transaction", async () => {
  const count = await db.transaction(async (tx) => {
    await tx.exec(insert, [7, "g"]);
    await time.sleep(0.001);
    await tx.batch(() => { tx.exec("INSERT INTO notes (id, title) VALUES (8, 'h')"); });
    return (await tx.one("SELECT count(*) AS n FROM notes WHERE id > 6")).n;
  });
  return { count };
});
app.post("/transaction-throws", async () => {
  const { ok, code } = await failure(() => db.transaction(async (tx) => {
    await tx.exec("INSERT INTO notes (id, title) VALUES (9, 'not')");
    throw { code: 7 };
  }));
  return { ok, code };
});
app.post("/beside-transaction", async () => {
  const { ok, code } = await failure(() => db.transaction(async () => {
    await db.exec("INSERT INTO notes (id, title) VALUES (9, 'not')");
  }));
  return { ok, code };
});
app.post("/transaction-in-transaction", async () => {
  const { ok, message } = await failure(() => db.transaction(async () => { await db.transaction(() => {}); }));
  return { ok, message };
});
app.get("/template", () => db.sql`SELECT title FROM notes WHERE id = ${1}`);
app.post("/begin", async () => {
  const { ok, code } = await failure(() => db.exec("BEGIN"));
  return { ok, code };
});
