import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";

app.get("/names", async () => (await db.query("SELECT name FROM t ORDER BY name")).map((row) => row.name));
let holds = 0;
let open = 0;
app.get("/hold", () => {
  holds += 1;
  // On PostgreSQL several are open at once.
  const held = `held ${holds}`;
  return db.transaction(async (tx) => {
    await tx.exec(ADD, [held]);
    open += 1;
    await time.sleep(0.8);
    open -= 1;
    await tx.exec("DELETE FROM t WHERE name = ?", [held]);
    return { ok: true };
  });
});
app.get("/holding", async () => {
  while (open === 0) await time.sleep(0.01);
});
app.get("/exec/:name", async (req) => {
  try {
    await db.exec(ADD, [req.params.name]);
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/exec-after-a-wait/:name", async (req) => {
  await time.sleep(0.05);
  await db.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.post("/exec/:name", async (req) => {
  await db.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.get("/query/:name", (req) => db.query(`${ADD} RETURNING name`, [req.params.name]));
app.get("/batch/:name", (req) => db.batch(() => {
  db.exec(ADD, [req.params.name]);
  return { ok: true };
}));
app.get("/sorted", () => {
  try {
    [1, 2].sort(() => { void db.exec(ADD, ["sorted"]); return 0; });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
