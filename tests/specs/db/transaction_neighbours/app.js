import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";

app.get("/names", () => db.query("SELECT name FROM t ORDER BY name").map((row) => row.name));
app.get("/hold", () => db.transaction(async (tx) => {
  tx.exec(ADD, ["held"]);
  await time.sleep(0.4);
  tx.exec("DELETE FROM t WHERE name = 'held'");
  return { ok: true };
}));
app.get("/exec/:name", (req) => {
  try {
    db.exec(ADD, [req.params.name]);
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/exec-after-a-wait/:name", async (req) => {
  await time.sleep(0.05);
  db.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.post("/exec/:name", (req) => {
  db.exec(ADD, [req.params.name]);
  return { ok: true };
});
app.get("/query/:name", (req) => db.query(`${ADD} RETURNING name`, [req.params.name]));
app.get("/batch/:name", (req) => db.batch(() => {
  db.exec(ADD, [req.params.name]);
  return { ok: true };
}));
app.get("/sorted", () => {
  try {
    [1, 2].sort(() => { db.exec(ADD, ["sorted"]); return 0; });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
