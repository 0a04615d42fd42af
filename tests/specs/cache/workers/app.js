import { app, cache, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS calls (n INTEGER)");
db.exec("CREATE TABLE IF NOT EXISTS counts (n INTEGER)");
db.exec("INSERT INTO counts (n) VALUES (0)");

app.get("/once", () => cache.once("made", async () => {
  db.exec("INSERT INTO calls (n) VALUES (1)");
  await time.sleep(0.02);
  return "made";
}));
app.get("/calls", () => db.one("SELECT count(*) AS n FROM calls"));

// What one has written under the lock is read by the next, on whichever worker.
app.post("/count", async () => {
  await app.lock("count", { timeout: 60 }, async () => {
    const { n } = db.one("SELECT max(n) AS n FROM counts");
    await time.sleep(0.001);
    db.exec("UPDATE counts SET n = ?", [n + 1]);
  });
  return "counted";
});
app.get("/count", () => db.one("SELECT max(n) AS n FROM counts"));
