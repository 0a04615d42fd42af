// Node.js `http`, routed by hand.
const cluster = require("node:cluster");
const http = require("node:http");

const threads = Number(process.env.THREADS);
const version = JSON.stringify({ version: "1.0" });

function send(res, status, body) {
  res.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}

function withJson(req, res, answer) {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    try {
      send(res, 200, JSON.stringify(answer(JSON.parse(Buffer.concat(chunks).toString()))));
    } catch (error) {
      send(res, 400, JSON.stringify({ error: error.message }));
    }
  });
}

function handle(req, res) {
  const { method, url } = req;
  if (method === "GET" && url === "/version") return send(res, 200, version);
  if (method === "GET" && url === "/health") {
    return send(res, 200, JSON.stringify({ status: "ok", runtime: "node", version: "1.0" }));
  }
  if (url.startsWith("/greet/")) {
    const name = decodeURIComponent(url.slice(7));
    if (method === "GET") return send(res, 200, JSON.stringify({ greeting: `Hello, ${name}` }));
    if (method === "POST") return withJson(req, res, (body) => ({ greeting: `${body.greeting}, ${name}` }));
  }
  if (method === "GET" && url.startsWith("/user/")) {
    return send(res, 200, JSON.stringify({ id: decodeURIComponent(url.slice(6)) }));
  }
  if (method === "POST" && url === "/echo") return withJson(req, res, (body) => body);
  send(res, 404, JSON.stringify({ error: "not found" }));
}

if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  http.createServer(handle).listen(Number(process.env.PORT), "127.0.0.1");
}
