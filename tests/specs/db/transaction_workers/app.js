import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS counter (n INTEGER)");
db.exec("INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter)");

app.get("/count", () => db.one("SELECT n FROM counter"));
app.get("/add", () => db.transaction(async (tx) => {
  const { n } = tx.one("SELECT n FROM counter");
  await time.sleep(0.002);
  tx.exec("UPDATE counter SET n = ?", [n + 1]);
  return { ok: true };
}));
app.post("/add", () => {
  db.exec("UPDATE counter SET n = n + 1");
  return { ok: true };
});
app.get("/fail", () => db.transaction(async (tx) => {
  tx.exec("UPDATE counter SET n = 1000000");
  await time.sleep(0.002);
  throw Object.assign(new Error("no"), { status: 409 });
}));
