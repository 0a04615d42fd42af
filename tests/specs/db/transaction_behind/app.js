// A write right behind a transaction of the same run, while another transaction waits for its turn.
import { app, db, time } from "sampan";

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS seen (name TEXT, place TEXT)"); });

const ADD = "INSERT INTO seen (name, place) VALUES (?, ?)";
const OK = { ok: true };

async function both(name) {
  await db.transaction(async (tx) => {
    await tx.exec(ADD, [name, "inside"]);
    await time.sleep(0.4);
  });
  await db.exec(ADD, [name, "behind"]);
}

app.get("/seen/:name", async (req) => {
  const rows = await db.query("SELECT place FROM seen WHERE name = ? ORDER BY place", [req.params.name]);
  return rows.map((row) => row.place);
});
app.get("/hold", () => db.transaction(async (tx) => {
  await tx.exec(ADD, ["hold", "inside"]);
  await time.sleep(0.4);
  return OK;
}));
app.get("/both/:name", async (req) => {
  await both(req.params.name);
  return OK;
});
app.job("both", { attempts: 1 }, both);
app.get("/enqueue/:name", async (req) => {
  await app.enqueue("both", req.params.name);
  return OK;
});
