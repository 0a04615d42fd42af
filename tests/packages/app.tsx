// Real packages as npm installs them: Hono with its JSX, itty-router, zod, Preact, and React, which is CommonJS.
import { app, log } from "sampan";
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { cors } from "hono/cors";
import { upgradeWebSocket } from "sampan/hono";
import { AutoRouter } from "itty-router";
import { nanoid } from "nanoid/non-secure";
import { z } from "zod";
import { preactPage } from "./preact";
import { reactPage } from "./react";

const Layout = ({ title, children }: { title: string; children?: unknown }) => (
  <html>
    <head>
      <title>{title}</title>
    </head>
    <body>{children}</body>
  </html>
);

const hono = new Hono();
hono.get("/hono", (c) => c.html(<Layout title="Hono & co"><p class="x">{"<escaped>"}</p></Layout>));
hono.use("/closed/*", basicAuth({ username: "ann", password: "secret" }));
hono.get("/closed/page", (c) => c.text("in"));

hono.use("/socket/*", cors());
hono.get("/socket/:room", upgradeWebSocket((c) => {
  let count = 0;
  return {
    onOpen: (event, ws) => ws.send(`${event.type} ${c.req.param("room")} ${ws.readyState} ${ws.url?.pathname}`),
    async onMessage({ data }, ws) {
      await null;
      count += 1;
      if (data === "close") ws.close(4000, "enough");
      else ws.send(typeof data === "string" ? `${count} ${data}` : new Uint8Array(data as ArrayBuffer));
    },
    onClose: ({ code, reason }) => log.info(`gone ${code} ${reason} ${count}`),
  };
}));
hono.get("/socket/:room", (c) => c.text("a page"));

const router = AutoRouter({ base: "/itty" });
router.get("/hello/:name", ({ params }) => ({ hello: params.name }));
hono.all("/itty/*", (c) => router.fetch(c.req.raw));

const User = z.object({ name: z.string().min(2), age: z.coerce.number().int() });

app.post("/zod", async (req) => {
  const checked = User.safeParse(await req.json());
  return checked.success ? checked.data : { issues: checked.error.issues.map((issue) => issue.path.join(".")) };
});
app.get("/preact", () => preactPage("Ann"));
app.get("/react", () => reactPage("Ann"));
app.get("/nanoid", () => ({ length: nanoid().length }));

export default hono;
