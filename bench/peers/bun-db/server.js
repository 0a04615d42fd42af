// Bun.serve with bun:sqlite. Each statement is prepared once.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";

const threads = Number(process.env.THREADS);
const isFirst = !process.env.SECOND;

const db = new Database(process.env.DB, { create: true, strict: true });
db.run("PRAGMA busy_timeout = 5000");
db.run("PRAGMA journal_mode = WAL");
db.run(`PRAGMA synchronous = ${process.env.SYNCHRONOUS}`);
db.run("PRAGMA foreign_keys = ON");
db.run("PRAGMA cache_size = -16384");
db.run("PRAGMA temp_store = MEMORY");
if (isFirst) for (const file of process.env.SCHEMA.split(":")) db.exec(readFileSync(file, "utf8"));

const PAYLOAD = '{"user":12345,"page":"/home"}';
const insert = db.query("INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)");
const newest = db.query("SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20");
const count = db.query("SELECT count(*) AS count FROM events");
const visit = db.query("INSERT INTO visits (path, ts) VALUES (?, ?)");
const visits = db.query("SELECT * FROM visits ORDER BY id DESC LIMIT 20");
const insertTen = db.transaction((now) => {
  for (let i = 0; i < 10; i++) insert.run("view", PAYLOAD, now);
});

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  reusePort: threads > 1,
  development: false,
  routes: {
    "/write": { POST: () => Response.json({ id: insert.run("view", PAYLOAD, Date.now()).lastInsertRowid }) },
    "/write-batch": {
      POST: () => {
        insertTen.immediate(Date.now());
        return Response.json({ inserted: 10 });
      },
    },
    "/read": () => Response.json(newest.all()),
    "/mixed": () => {
      insert.run("view", PAYLOAD, Date.now());
      return Response.json(newest.all());
    },
    "/count": () => Response.json(count.get()),
    "/": () => {
      visit.run("/", Date.now() / 1000);
      return Response.json({ message: "visit recorded" });
    },
    "/visits": () => Response.json(visits.all()),
  },
});

// One process for each thread; the kernel spreads the connections.
for (let more = 1; more < threads && isFirst; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
