// Fastify on Node.js.
const cluster = require("node:cluster");
const fastify = require("fastify");

const threads = Number(process.env.THREADS);

function serve() {
  const app = fastify();
  app.get("/health", async () => ({ status: "ok", runtime: "fastify", version: "1.0" }));
  app.get("/greet/:name", async (req) => ({ greeting: `Hello, ${req.params.name}` }));
  app.post("/greet/:name", async (req) => ({ greeting: `${req.body.greeting}, ${req.params.name}` }));
  app.get("/user/:id", async (req) => ({ id: req.params.id }));
  app.post("/echo", async (req) => req.body);
  app.get("/version", async () => ({ version: "1.0" }));
  app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
}

if (threads > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < threads; worker++) cluster.fork();
} else {
  serve();
}
