// Node.js `http` whose handlers ask another server with the global fetch, which is undici's.
const http = require("node:http");

const item = `${process.env.ORIGIN}/item`;

function send(res, status, body) {
  res.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}

async function pass(res) {
  const answer = await fetch(item);
  const body = Buffer.from(await answer.arrayBuffer());
  const fields = { "Content-Type": answer.headers.get("content-type"), "Content-Length": body.length };
  res.writeHead(answer.status, fields);
  res.end(body);
}

async function read(res) {
  const { id, name } = await (await fetch(item)).json();
  send(res, 200, JSON.stringify({ id, name }));
}

const routes = { "/passed": pass, "/read": read };

http.createServer((req, res) => {
  const route = routes[req.url];
  if (!route) return send(res, 404, JSON.stringify({ error: "not found" }));
  route(res).catch((error) => send(res, 502, JSON.stringify({ error: error.message })));
}).listen(Number(process.env.PORT), "127.0.0.1");
