// Node.js `http`, a process of a cluster for each thread.
const cluster = require("node:cluster");
const http = require("node:http");

const threads = Number(process.env.THREADS);

function compute(steps) {
  let x = 1;
  for (let step = 0; step < steps; step++) x = (x * 16807) % 2147483647;
  return { x };
}

function serve() {
  http.createServer((req, res) => {
    const send = (status, value) => {
      const body = JSON.stringify(value);
      res.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }).end(body);
    };
    if (req.url === "/quick") return send(200, { status: "ok" });
    if (/^\/(burn|work)\/\d+$/.test(req.url)) return send(200, compute(Number(req.url.slice(6))));
    send(404, { error: "not found" });
  }).listen({ port: Number(process.env.PORT), host: "127.0.0.1", backlog: 4096 });
}

if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  serve();
}
