// Fastify on Node.js with better-sqlite3. Each statement is prepared once.
const cluster = require("node:cluster");
const { readFileSync } = require("node:fs");
const Database = require("better-sqlite3");
const fastify = require("fastify");

const threads = Number(process.env.THREADS);

function open() {
  const db = new Database(process.env.DB, { timeout: 5000 });
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${process.env.SYNCHRONOUS}`);
  db.pragma("foreign_keys = ON");
  db.pragma("cache_size = -16384");
  db.pragma("temp_store = MEMORY");
  return db;
}

function create() {
  const db = open();
  for (const file of process.env.SCHEMA.split(":")) db.exec(readFileSync(file, "utf8"));
  db.close();
}

function serve() {
  const db = open();
  const PAYLOAD = '{"user":12345,"page":"/home"}';
  const insert = db.prepare("INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)");
  const newest = db.prepare("SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20");
  const count = db.prepare("SELECT count(*) AS count FROM events");
  const visit = db.prepare("INSERT INTO visits (path, ts) VALUES (?, ?)");
  const visits = db.prepare("SELECT * FROM visits ORDER BY id DESC LIMIT 20");
  const insertTen = db.transaction((now) => {
    for (let i = 0; i < 10; i++) insert.run("view", PAYLOAD, now);
  });

  const app = fastify();
  app.post("/write", async () => ({ id: insert.run("view", PAYLOAD, Date.now()).lastInsertRowid }));
  app.post("/write-batch", async () => {
    insertTen.immediate(Date.now());
    return { inserted: 10 };
  });
  app.get("/read", async () => newest.all());
  app.get("/mixed", async () => {
    insert.run("view", PAYLOAD, Date.now());
    return newest.all();
  });
  app.get("/count", async () => count.get());
  app.get("/", async () => {
    visit.run("/", Date.now() / 1000);
    return { message: "visit recorded" };
  });
  app.get("/visits", async () => visits.all());
  app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
}

if (cluster.isPrimary) create();
if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  serve();
}
