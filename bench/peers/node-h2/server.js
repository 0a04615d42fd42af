// Node.js `http2` over TLS, routed by hand.
const fs = require("node:fs");
const http2 = require("node:http2");

const version = JSON.stringify({ version: "1.0" });

function send(res, body) {
  res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  res.end(body);
}

const options = {
  cert: fs.readFileSync(process.env.CERTIFICATE),
  key: fs.readFileSync(process.env.KEY),
  allowHTTP1: true,
  settings: { maxConcurrentStreams: 128 },
};

const server = http2.createSecureServer(options, (req, res) => {
  if (req.url === "/version") return send(res, version);
  if (req.url === "/health") {
    return send(res, JSON.stringify({ status: "ok", runtime: "node", version: "1.0" }));
  }
  res.writeHead(404);
  res.end();
});
server.listen(Number(process.env.PORT), "127.0.0.1");
