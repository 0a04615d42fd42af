// The app that `cargo xtask soak` loads, kills and reloads. app.lua is its twin: they take turns on one database.
import { app, db, file, files, time } from "sampan";
const SLOW = { slow: true };
const ROWS = 10;

const INSERT = "INSERT INTO writes (writer, seq, value) VALUES (?, ?, ?)";

// The request's writer, number and value.
const asked = async (req) => [Number(req.params.writer), Number(req.params.seq), (await req.json()).value];

const told = (writer, seq, rows) => ({ writer, seq, rows });

async function write(req) {
  const [writer, seq, value] = await asked(req);
  db.exec(INSERT, [writer, seq, value]);
  return told(writer, seq, 1);
}
app.post("/write/:writer/:seq", write);
app.post("/slow-write/:writer/:seq", SLOW, write);

app.post("/late/:writer/:seq", async (req) => {
  const answer = await write(req);
  await time.sleep(0.01);
  return answer;
});

app.post("/batch/:writer/:seq", async (req) => {
  const [writer, seq, value] = await asked(req);
  db.batch(() => {
    for (let at = seq; at < seq + ROWS; at++) db.exec(INSERT, [writer, at, value]);
  });
  return told(writer, seq, ROWS);
});

app.post("/transaction/:writer/:seq", async (req) => {
  const [writer, seq, value] = await asked(req);
  return db.transaction(async (tx) => {
    for (let at = seq; at < seq + ROWS; at++) {
      tx.exec(INSERT, [writer, at, value]);
      if (at === seq) await time.sleep(0.001);
    }
    return told(writer, seq, ROWS);
  });
});

app.get("/value/:writer/:seq", (req) => {
  const row = db.one("SELECT value FROM writes WHERE writer = ? AND seq = ?",
    [Number(req.params.writer), Number(req.params.seq)]);
  return { value: row?.value ?? "" };
});

app.get("/rows/:writer/:after", (req) => ({
  rows: db.one(`SELECT coalesce(group_concat(seq || ':' || value), '') AS rows FROM
    (SELECT seq, value FROM writes WHERE writer = ? AND seq > ? ORDER BY seq LIMIT 1000)`,
    [Number(req.params.writer), Number(req.params.after)]).rows,
}));

app.post("/forget/:writer/:seq", (req) => {
  db.exec("DELETE FROM writes WHERE writer = ? AND seq <= ?", [Number(req.params.writer), Number(req.params.seq)]);
  return {};
});

app.get("/integrity", async () => ({ found: (await db.oneAsync("PRAGMA integrity_check")).integrity_check }));

// Sessions

const session = (req) => ({ name: req.session.name ?? "", number: req.session.number ?? 0 });

app.post("/session/:name/:number", (req) => {
  req.session.name = req.params.name;
  req.session.number = Number(req.params.number);
  return session(req);
});
app.get("/session", session);
app.get("/session/slow", SLOW, session);

// Answers that belong to their requests

app.get("/echo/:token", async (req) => {
  await time.sleep(0.002);
  return { token: req.params.token, header: req.headers.get("x-token") };
});

app.get("/compute/:seed/:rounds", (req) => {
  let x = Number(req.params.seed);
  for (let round = Number(req.params.rounds); round > 0; round--) x = x * 16807 % 2147483647;
  return { result: x };
});

// Uploads

app.post("/uploads/:id", { stream: true }, async (req) => {
  const sent = (await req.form()).file;
  await sent.save(`uploads/${req.params.id}`);
  return { id: req.params.id, size: sent.size };
});
app.get("/uploads/:id", (req) => file(req.params.id, { folder: "storage/uploads" }));
app.post("/uploads/:id/remove", async (req) => {
  await files.remove(`uploads/${req.params.id}`);
  return {};
});

// Jobs

app.job("finish", { attempts: 20, backoff: 0.5 }, (args) => {
  db.exec("UPDATE wanted SET done = done + 1 WHERE client = ? AND seq = ?", [args.client, args.seq]);
});

app.post("/jobs/:writer/:seq", async (req) => {
  const [client, seq] = await asked(req);
  db.batch(() => {
    db.exec("INSERT INTO wanted (client, seq) VALUES (?, ?)", [client, seq]);
    app.enqueue("finish", { client, seq });
  });
  return told(client, seq, 1);
});

app.get("/jobs/:writer/:after", (req) => ({
  rows: db.one(`SELECT coalesce(group_concat(seq || ':' || done), '') AS rows FROM
    (SELECT seq, done FROM wanted WHERE client = ? AND seq > ? ORDER BY seq LIMIT 1000)`,
    [Number(req.params.writer), Number(req.params.after)]).rows,
}));

// Sockets

app.ws("/rooms/:room/:name", {
  open(ws) {
    ws.subscribe(`room:${ws.req.params.room}`);
    ws.send("open");
  },
  message(ws, text) {
    const message = `${ws.req.params.name} ${text}`;
    if (text.startsWith("echo")) return void ws.send(message);
    app.publish(`room:${ws.req.params.room}`, message);
  },
});
