import { app, db, time } from "sampan";

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS faults (name TEXT NOT NULL)"); });
const has = async (name) => await db.one("SELECT 1 AS one FROM faults WHERE name = ?", [name]) !== null;

app.health("stock", async () => {
  if (await has("empty")) throw new Error("nothing is left");
});
app.health("payments", async () => {
  await time.sleep(await has("slow") ? 60 : 0.001);
  return 0; // Only false counts.
});

app.post("/faults/:name", async (req) => {
  await db.exec("INSERT INTO faults (name) VALUES (?)", [req.params.name]);
});
app.delete("/faults", async () => { await db.exec("DELETE FROM faults"); });
app.get("/late", () => {
  try {
    app.health("late", () => {});
    return "declared";
  } catch (error) {
    return error.message;
  }
});
