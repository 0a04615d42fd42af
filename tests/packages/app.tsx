// Real packages as npm installs them: Hono with its JSX, itty-router, zod, Preact, and React, which is CommonJS.
import { app } from "sampan";
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
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
