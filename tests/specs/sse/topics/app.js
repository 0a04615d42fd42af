import { app, db, time } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE notes (text TEXT NOT NULL UNIQUE)");
});

// The streams that end with the next message of their topic.
const open = {};
for (const topic of ["news", "rolled back", "waited"]) {
  app.subscribe(topic, () => { open[topic]?.close(); });
}

app.sse("/news", async (req, events) => {
  open.news = events;
  events.subscribe("news", { event: "note" });
  events.subscribe("plain");
  events.subscribe("gone");
  const [wasThere, again] = [events.unsubscribe("gone"), events.unsubscribe("gone")];
  await events.send(`${wasThere} ${again}`);
  app.publish("gone", "not seen");
  app.publish("plain", { a: 1 });
  app.publish("plain", new Uint8Array([255, 254]));
  app.publish("news", "hello\nyou");
});

app.sse("/written", async (req, events) => {
  db.exec("INSERT INTO notes (text) VALUES ('first')");
  await events.send("written");
});

app.sse("/rolled-back", async (req, events) => {
  try {
    db.batch(() => {
      db.exec("INSERT INTO notes (text) VALUES ('second')");
      events.send("not there");
      db.exec("INSERT INTO notes (text) VALUES ('first')");
    });
  } catch {
    // It is rolled back.
  }
  await events.send("after");
});

app.sse("/transaction", async (req, events) => {
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO notes (text) VALUES ('third')");
      events.send("not there");
      throw new Error("no");
    });
  } catch {
    // It is rolled back.
  }
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes (text) VALUES ('third')");
    events.send("there");
  });
});

let ended = "no";
app.sse("/waits", async (req, events) => {
  open.waited = events;
  app.publish("waited", "now");
  await events.wait();
  await time.sleep(0.001);
  ended = "yes";
});
app.get("/ended", () => ended);
