import { app, db, time } from "sampan";

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS ticks (name TEXT NOT NULL)"); });
const tick = (name) => db.exec("INSERT INTO ticks (name) VALUES (?)", [name]);

app.every(0.001, () => tick("quick"));
app.every(0.002, async () => {
  await tick("begun");
  await time.sleep(0.005);
  await tick("ended");
});
app.every(0.003, () => { throw new Error("it cannot tick"); });
app.every(2592000, () => tick("never"));

app.get("/enough/:name", async (req) => {
  const row = await db.one("SELECT count(*) AS n FROM ticks WHERE name = ?", [req.params.name]);
  return row.n >= 3 ? "enough" : "too few";
});
app.get("/at-once", async () => {
  // A run begins only after the one before has ended.
  const row = await db.one("SELECT sum(CASE name WHEN 'begun' THEN 1 WHEN 'ended' THEN -1 ELSE 0 END) AS n FROM ticks");
  return row.n <= 1;
});
app.get("/wrong/:what", (req) => {
  const calls = {
    late: () => app.every(1, () => {}),
    text: () => app.every("1", () => {}),
    nothing: () => app.every(1),
  };
  try {
    calls[req.params.what]();
  } catch (error) {
    return error.message;
  }
});
const refused = {};
for (const [name, seconds] of Object.entries({ zero: 0, negative: -1, nan: NaN, long: 2592001, infinite: Infinity })) {
  try {
    app.every(seconds, () => {});
  } catch (error) {
    refused[name] = error.message;
  }
}
app.get("/refused/:name", (req) => refused[req.params.name]);
