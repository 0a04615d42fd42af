import { app, db } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)");
  db.exec("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, message TEXT)");
});

app.subscribe("notes", (message) => {
  db.exec("INSERT INTO seen (message) VALUES (?)", [message]);
});

function note(text) {
  db.exec("INSERT INTO notes VALUES (?)", [text]);
  app.publish("notes", text);
}

function attempt(fn) {
  try {
    fn();
  } catch {
    // It is rolled back.
  }
}

app.post("/batch", () => {
  note("before");
  attempt(() => db.batch(() => {
    note("rolled back");
    db.batch(() => note("nested"));
    throw new Error("no");
  }));
  db.batch(() => {
    note("kept");
    attempt(() => db.batch(() => {
      note("inner");
      throw new Error("no");
    }));
  });
  note("after");
});

app.post("/transaction", async () => {
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES ('tx')");
    app.publish("notes", "committed");
  });
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO notes VALUES ('tx')");
      app.publish("notes", "never");
      throw new Error("no");
    });
  } catch {
    // It is rolled back.
  }
  app.publish("notes", "end");
});

app.post("/throws", () => {
  app.publish("notes", "left at once");
  throw new Error("no");
});

app.get("/seen", () =>
  db.one("SELECT group_concat(message, ', ') AS all_of FROM (SELECT message FROM seen ORDER BY id)"));
