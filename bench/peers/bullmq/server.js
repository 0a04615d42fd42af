// BullMQ on Redis: adds empty jobs, and does them where WORK is 1.
const http = require("node:http");
const { Queue, Worker } = require("bullmq");

const ADDED = 1000;
const connection = { host: "127.0.0.1", port: Number(process.env.REDIS_PORT) };
const queue = new Queue("bench", { connection });

if (process.env.WORK === "1") {
  new Worker("bench", async () => {}, { connection, concurrency: 100, removeOnComplete: { count: 0 } });
}

const routes = {
  "POST /add": async () => {
    await queue.addBulk(Array.from({ length: ADDED }, () => ({ name: "nothing", data: {} })));
    return { added: ADDED };
  },
  "GET /left": async () => {
    const counts = await queue.getJobCounts("wait", "active");
    return { left: counts.wait + counts.active };
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
