// Node.js `http` with postgres.js, routed by hand. What is sent together is pipelined.
const cluster = require("node:cluster");
const http = require("node:http");
const postgres = require("postgres");

const threads = Number(process.env.THREADS);
const PAYLOAD = '{"user":12345,"page":"/home"}';
const now = () => Math.floor(Date.now() / 1000);

function serve() {
  const sql = postgres(process.env.DATABASE_URL, { max: Number(process.env.POOL), prepare: process.env.PREPARE === "1" });
  const routes = {
    "GET /rows": () => sql`SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20`,
    "POST /write": async () => {
      const [{ id }] = await sql`INSERT INTO events (kind, payload, ts) VALUES (${"view"}, ${PAYLOAD}, ${now()}) RETURNING id`;
      return { id };
    },
    "POST /write-batch": async () => {
      const ts = now();
      const insert = (tx) => tx`INSERT INTO events (kind, payload, ts) VALUES (${"view"}, ${PAYLOAD}, ${ts})`;
      await sql.begin((tx) => Array.from({ length: 10 }, () => insert(tx)));
      return { inserted: 10 };
    },
    "POST /update": async () => {
      const first = 20 * Math.floor(Math.random() * 500) + 1;
      await sql.begin(async (tx) => {
        const rows = await tx`SELECT id, n FROM counters WHERE id BETWEEN ${first} AND ${first + 19} ORDER BY id FOR UPDATE`;
        await Promise.all(rows.map((row) => tx`UPDATE counters SET n = ${row.n + 1} WHERE id = ${row.id}`));
      });
      return { updated: 20 };
    },
    "GET /count": async () => {
      const [row] = await sql`SELECT (SELECT count(*) FROM events)::int AS count, (SELECT sum(n) FROM counters)::int AS sum`;
      return row;
    },
  };
  const row = async (id) => {
    const [found] = await sql`SELECT id, kind, payload, ts FROM events WHERE id = ${id}`;
    return found;
  };
  const find = ({ method, url }) => {
    if (method === "GET" && url.startsWith("/row/")) return () => row(Number(url.slice(5)));
    return routes[`${method} ${url}`];
  };
  http.createServer(async (req, res) => {
    const send = (status, value) => {
      const body = JSON.stringify(value);
      res.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }).end(body);
    };
    const route = find(req);
    if (!route) return send(404, { error: "not found" });
    try {
      send(200, await route());
    } catch (error) {
      send(500, { error: error.message });
    }
  }).listen(Number(process.env.PORT), "127.0.0.1");
}

if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  serve();
}
