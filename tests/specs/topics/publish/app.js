import { app, db, time } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, kind TEXT, text TEXT, event TEXT, topic TEXT)");
});

// As Lua names them.
const kindOf = (message) => (typeof message === "object" ? "table" : typeof message);

app.subscribe("news", (message, about) => {
  const text = typeof message === "object" ? JSON.stringify(message) : String(message);
  db.exec("INSERT INTO seen (kind, text, event, topic) VALUES (?, ?, ?, ?)", [
    kindOf(message), text, about.event, about.topic,
  ]);
});

app.subscribe("waits", async (message) => {
  await time.sleep(0.01);
  db.exec("INSERT INTO seen (kind, text) VALUES ('waited', ?)", [message]);
});

app.subscribe("fails", (message) => {
  throw new Error("cannot take " + message);
});

app.post("/text", () => app.publish("news", "hello"));
app.post("/json", () => app.publish("news", { a: 1, list: [] }));
app.post("/number", () => app.publish("news", 7));
app.post("/many", () => {
  for (let n = 1; n <= 5; n++) app.publish("waits", "m" + n);
  app.publish("nobody is interested", "lost");
});
app.post("/fails", () => app.publish("fails", "this"));
app.get("/seen", () => db.query("SELECT kind, text, event, topic FROM seen ORDER BY id"));
app.get("/waited", () =>
  db.query("SELECT group_concat(text, ' ') AS texts FROM (SELECT text FROM seen WHERE kind = 'waited' ORDER BY id)"));
