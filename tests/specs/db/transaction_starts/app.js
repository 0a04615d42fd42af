import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (worker INTEGER, what TEXT)");

app.onStart(async () => {
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO t VALUES (?, 'inside')", [app.worker.index]);
    await time.sleep(0.05);
  });
  await db.exec("INSERT INTO t VALUES (?, 'after')", [app.worker.index]);
});
app.get("/", () => db.query("SELECT what, count(*) AS n FROM t GROUP BY what ORDER BY what"));
