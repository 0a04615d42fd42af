// Elysia on Bun.
import { Elysia } from "elysia";

const threads = Number(process.env.THREADS);

new Elysia()
  .get("/health", () => ({ status: "ok", runtime: "elysia", version: "1.0" }))
  .get("/greet/:name", ({ params }) => ({ greeting: `Hello, ${params.name}` }))
  .post("/greet/:name", ({ params, body }) => ({ greeting: `${body.greeting}, ${params.name}` }))
  .get("/user/:id", ({ params }) => ({ id: params.id }))
  .post("/echo", ({ body }) => body)
  .get("/version", Response.json({ version: "1.0" }))
  .listen({ hostname: "127.0.0.1", port: Number(process.env.PORT), reusePort: threads > 1 });

for (let more = 1; more < threads && !process.env.SECOND; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
