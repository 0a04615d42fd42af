import { app, db, time } from "sampan";
const { sleep } = time;

app.onStart(async () => { await db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)"); });
const note = (text) => db.exec("INSERT INTO notes (text) VALUES (?)", [text]);
app.get("/notes", async () => {
  const rows = await db.query("SELECT text FROM notes ORDER BY text");
  await db.exec("DELETE FROM notes");
  return rows.map((row) => row.text);
});

app.get("/results", () => Promise.all([
  (async () => { await sleep(0.02); return "a"; })(),
  (async () => { await sleep(0.01); return "b"; })(),
  "c",
]));
app.get("/each-other", async () => {
  let turn = 1;
  const order = [];
  const player = async (own, other) => {
    for (let i = 0; i < 3; i++) {
      while (turn !== own) await sleep(0.001);
      order.push(own);
      turn = other;
    }
  };
  await Promise.all([player(1, 2), player(2, 1)]);
  return order;
});
app.get("/writes", async () => {
  const writer = async (text) => {
    await note(`${text} 1`);
    await sleep(0.005);
    await db.batch(() => { note(`${text} 2`); });
    return text;
  };
  const [one, two, [three]] = await Promise.all([
    writer("a"), writer("b"), Promise.all([writer("c"), writer("d")]),
  ]);
  return [one, two, three];
});
// A promise is not cancelled because another is rejected.
app.get("/fails", async () => {
  try {
    await Promise.all([
      (async () => { await sleep(0.1); await note("slept"); })(),
      (async () => { await sleep(0.005); throw new Error("the first"); })(),
    ]);
  } catch (error) {
    return { err: error.message };
  }
});
app.get("/uncaught", async () => {
  await Promise.all([sleep(0.001), (async () => {
    throw Object.assign(new Error("it is taken"), { status: 409 });
  })()]);
});
app.get("/transaction", async () => {
  try {
    await Promise.all([
      db.transaction(async (tx) => {
        await tx.exec("INSERT INTO notes VALUES ('inside')");
        await sleep(0.05);
      }),
      (async () => { await sleep(0.01); await note("beside"); })(),
    ]);
  } catch (error) {
    return error.message;
  }
});
app.get("/leaves", async () => {
  const waiter = async (name) => {
    try {
      await sleep(60);
    } catch (error) {
      await note(`${name} ${error.code}`);
      throw error;
    }
  };
  await Promise.all([waiter("a"), waiter("b")]);
});
