import { app, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)");

let hits = 0;
app.get("/up/hit", () => `hit ${++hits}`);
const hit = async (req) => (await fetch(`http://${req.headers.get("host")}/up/hit`)).text();

app.get("/hits", () => ({ hits }));
app.post("/after", async (req) => {
  db.exec("INSERT INTO notes (text) VALUES ('one')");
  const first = await hit(req);
  db.exec("INSERT INTO notes (text) VALUES ('two')");
  return [first, await hit(req), db.one("SELECT count(*) AS n FROM notes").n];
});
app.post("/in-a-batch", async (req) => {
  let sent;
  try {
    db.batch(() => {
      db.exec("INSERT INTO notes (text) VALUES ('lost')");
      sent = hit(req).catch((error) => error);
      throw new Error("the batch fails");
    });
  } catch {
    // What else of the group is committed does not matter.
  }
  db.exec("INSERT INTO notes (text) VALUES ('kept')");
  await time.sleep(0);
  return (await sent).message;
});
app.post("/lost", async (req) => {
  db.exec("INSERT INTO notes (id) VALUES (1000)");
  const sent = hit(req).catch((error) => error);
  try {
    db.exec("INSERT OR ROLLBACK INTO notes (id) VALUES (1000)");
  } catch {
    // The whole group is lost.
  }
  return `${(await sent).message}`;
});
app.post("/in-a-transaction", async (req) => {
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO notes (text) VALUES ('lost')");
      await hit(req);
    });
  } catch (error) {
    return error.message;
  }
});
