// Hono on Node.js.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const app = new Hono();

app.get("/health", (c) => c.json({ status: "ok", runtime: "hono", version: "1.0" }));
app.get("/greet/:name", (c) => c.json({ greeting: `Hello, ${c.req.param("name")}` }));
app.post("/greet/:name", async (c) => {
  const { greeting } = await c.req.json();
  return c.json({ greeting: `${greeting}, ${c.req.param("name")}` });
});
app.get("/user/:id", (c) => c.json({ id: c.req.param("id") }));
app.post("/echo", async (c) => c.json(await c.req.json()));
app.get("/version", (c) => c.json({ version: "1.0" }));
app.onError((error, c) => c.json({ error: error.message }, 400));

serve({ hostname: "127.0.0.1", port: Number(process.env.PORT), fetch: app.fetch });
