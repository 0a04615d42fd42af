// Gust with handlers, on Bun or Node.js. It decodes no parameters, and takes a body that is no JSON for an empty object, so both are done here.
import { createApp, get, json, post, serve } from "@sylphx/gust";

const app = createApp({
  routes: [
    get("/version", () => json({ version: "1.0" })),
    get("/health", () => json({ status: "ok", runtime: "gust", version: "1.0" })),
    get("/greet/:name", ({ ctx }) => json({ greeting: `Hello, ${decodeURIComponent(ctx.params.name)}` })),
    get("/user/:id", ({ ctx }) => json({ id: decodeURIComponent(ctx.params.id) })),
    post("/echo", ({ ctx }) => json(JSON.parse(ctx.body.toString()))),
  ],
});
await serve({ app, port: Number(process.env.PORT), hostname: "127.0.0.1" });
