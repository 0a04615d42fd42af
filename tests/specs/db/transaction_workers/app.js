import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY, n INTEGER)");
db.exec("INSERT INTO counter (id, n) VALUES (1, 0) ON CONFLICT DO NOTHING");

// PostgreSQL does not let transactions take turns: they lock what they read and then write.
const READ = "SELECT n FROM counter" + (db.dialect() === "postgres" ? " FOR UPDATE" : "");

app.get("/count", () => db.one("SELECT n FROM counter"));
app.get("/add", () => db.transaction(async (tx) => {
  const { n } = await tx.one(READ);
  await time.sleep(0.002);
  await tx.exec("UPDATE counter SET n = ?", [n + 1]);
  return { ok: true };
}));
app.post("/add", async () => {
  await db.exec("UPDATE counter SET n = n + 1");
  return { ok: true };
});
app.get("/fail", () => db.transaction(async (tx) => {
  await tx.exec("UPDATE counter SET n = 1000000");
  await time.sleep(0.002);
  throw Object.assign(new Error("no"), { status: 409 });
}));
