// graphile-worker on PostgreSQL: adds empty jobs, and does them where WORK is 1.
const http = require("node:http");
const { run, runMigrations, makeWorkerUtils } = require("graphile-worker");
const { Pool } = require("pg");

const ADDED = 1000;
const quiet = { worker: { concurrentJobs: 24, maxPoolSize: 26 } };
// As its guide on performance says: jobs are fetched and completed in batches.
const batches = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

async function main() {
  const pgPool = new Pool({ connectionString: process.env.DATABASE_URL, max: 26 });
  await runMigrations({ pgPool });
  const utils = await makeWorkerUtils({ pgPool });
  if (process.env.WORK === "1") {
    const preset = { worker: { ...quiet.worker, ...batches } };
    await run({ pgPool, preset, taskList: { nothing: () => {} } });
  }
  const routes = {
    "POST /add": async () => {
      await utils.addJobs(Array.from({ length: ADDED }, () => ({ identifier: "nothing", payload: {} })));
      return { added: ADDED };
    },
    "GET /left": async () => {
      const { rows } = await pgPool.query("SELECT count(*)::int AS left FROM graphile_worker._private_jobs");
      return { left: rows[0].left };
    },
  };
  http.createServer(async (req, res) => {
    const route = routes[`${req.method} ${req.url}`];
    const send = (status, value) => res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    if (!route) return send(404, { error: "not found" });
    try {
      send(200, await route());
    } catch (error) {
      send(500, { error: error.message });
    }
  }).listen(Number(process.env.PORT), "127.0.0.1");
}

main();
