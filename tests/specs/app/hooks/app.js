import { app, db, log, time } from "sampan";

const seen = [];

app.onStart(async () => {
  db.exec("CREATE TABLE IF NOT EXISTS starts (name TEXT)");
  await time.sleep(0.001);
  db.exec("INSERT INTO starts VALUES ('each')");
  seen.push("each");
});
app.onStart(() => {
  db.exec("INSERT INTO starts VALUES ('once')");
  seen.push("once");
}, { once: true });
app.onStop(() => log.info("on_stop ran"));

app.get("/", () => ({ seen, rows: db.query("SELECT name FROM starts ORDER BY name") }));
app.get("/late", () => { app.onStart(() => {}); });
app.get("/wrong", (req) => {
  const calls = {
    number: () => app.onStart(1),
    options: () => app.onStart(() => {}, { twice: true }),
  };
  try {
    calls[req.query.what]();
  } catch (error) {
    return error.message;
  }
});
