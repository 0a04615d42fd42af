// Bun.serve, a process for each thread; the kernel spreads the connections.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";

const threads = Number(process.env.THREADS);
const isFirst = !process.env.SECOND;

const db = new Database(process.env.DB, { create: true, strict: true });
db.run("PRAGMA busy_timeout = 5000");
db.run("PRAGMA journal_mode = WAL");
if (isFirst) db.exec(readFileSync(process.env.NUMBERS, "utf8"));
const all = db.query("SELECT id, n FROM numbers");

const HASH = "$argon2id$v=19$m=19456,t=2,p=1$GVZ5XdcP/cXjUxGUptRElA$qG0A4sFY3fCgXpSj2L8Tj+cuYwKizKMhYtD/jSlCNCY";

function compute(req) {
  const steps = Number(req.params.steps);
  let x = 1;
  for (let step = 0; step < steps; step++) x = (x * 16807) % 2147483647;
  return Response.json({ x });
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  reusePort: threads > 1,
  development: false,
  idleTimeout: 60,
  routes: {
    "/quick": () => Response.json({ status: "ok" }),
    "/burn/:steps": compute,
    "/work/:steps": compute,
    "/login": { POST: async () => Response.json({ ok: await Bun.password.verify("over the water", HASH) }) },
    "/rows": () => {
      const rows = all.all();
      let sum = 0;
      for (const row of rows) sum += row.n;
      return Response.json({ rows: rows.length, sum });
    },
  },
});

for (let more = 1; more < threads && isFirst; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
