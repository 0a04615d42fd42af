// Express on Node.js, without the ETag and the header that the others do not send.
const cluster = require("node:cluster");
const express = require("express");

const threads = Number(process.env.THREADS);

function serve() {
  const app = express();
  app.disable("etag");
  app.disable("x-powered-by");
  app.use(express.json());
  app.get("/health", (req, res) => res.json({ status: "ok", runtime: "express", version: "1.0" }));
  app.get("/greet/:name", (req, res) => res.json({ greeting: `Hello, ${req.params.name}` }));
  app.post("/greet/:name", (req, res) => res.json({ greeting: `${req.body.greeting}, ${req.params.name}` }));
  app.get("/user/:id", (req, res) => res.json({ id: req.params.id }));
  app.post("/echo", (req, res) => res.json(req.body));
  app.get("/version", (req, res) => res.json({ version: "1.0" }));
  app.listen(Number(process.env.PORT), "127.0.0.1");
}

if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  serve();
}
