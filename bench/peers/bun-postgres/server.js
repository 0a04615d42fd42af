// Bun.serve with Bun.sql. What is sent together is pipelined.
import { SQL } from "bun";

const threads = Number(process.env.THREADS);
const sql = new SQL(process.env.DATABASE_URL, { max: Number(process.env.POOL), prepare: process.env.PREPARE === "1" });

const PAYLOAD = '{"user":12345,"page":"/home"}';
const now = () => Math.floor(Date.now() / 1000);
const insert = (on, ts) => on`INSERT INTO events (kind, payload, ts) VALUES (${"view"}, ${PAYLOAD}, ${ts})`;

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  reusePort: threads > 1,
  development: false,
  routes: {
    "/row/:id": async (req) => {
      const [row] = await sql`SELECT id, kind, payload, ts FROM events WHERE id = ${Number(req.params.id)}`;
      return Response.json(row);
    },
    "/rows": async () =>
      Response.json(await sql`SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20`),
    "/write": {
      POST: async () => {
        const [{ id }] = await sql`INSERT INTO events (kind, payload, ts) VALUES (${"view"}, ${PAYLOAD}, ${now()}) RETURNING id`;
        return Response.json({ id });
      },
    },
    "/write-batch": {
      POST: async () => {
        const ts = now();
        await sql.begin((tx) => Promise.all(Array.from({ length: 10 }, () => insert(tx, ts))));
        return Response.json({ inserted: 10 });
      },
    },
    "/update": {
      POST: async () => {
        const first = 20 * Math.floor(Math.random() * 500) + 1;
        await sql.begin(async (tx) => {
          const rows = await tx`SELECT id, n FROM counters WHERE id BETWEEN ${first} AND ${first + 19} ORDER BY id FOR UPDATE`;
          await Promise.all(rows.map((row) => tx`UPDATE counters SET n = ${row.n + 1} WHERE id = ${row.id}`));
        });
        return Response.json({ updated: 20 });
      },
    },
    "/count": async () => {
      const [row] = await sql`SELECT (SELECT count(*) FROM events)::int AS count, (SELECT sum(n) FROM counters)::int AS sum`;
      return Response.json(row);
    },
  },
  error: (error) => Response.json({ error: error.message }, { status: 500 }),
});

// One process for each thread; the kernel spreads the connections.
for (let more = 1; more < threads && !process.env.SECOND; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
