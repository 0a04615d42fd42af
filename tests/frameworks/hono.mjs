// A Hono app that uses what a small site uses. It is bundled into one file and must run unchanged: in the
// JavaScript engine's own tests through app.fetch, and behind `sampan run`.
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { jwt, sign } from "hono/jwt";
import { logger } from "hono/logger";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { stream, streamSSE, streamText } from "hono/streaming";
import { timeout } from "hono/timeout";

const SECRET = "a secret of this test";
const app = new Hono();

app.use("/logged/*", logger());
app.use("/cors/*", cors({ origin: "https://a.example", allowMethods: ["GET", "PUT"], credentials: true, maxAge: 60 }));
app.use("/etag/*", etag());
app.use("/admin/*", basicAuth({ username: "admin", password: "pässword" }));
app.use("/jwt/*", jwt({ secret: SECRET, alg: "HS256" }));
app.use("/secure/*", secureHeaders());
app.use("/id", requestId());
app.use("/limited", bodyLimit({ maxSize: 10 }));
app.use("/slow", timeout(50));
app.use("/timed/*", async (c, next) => {
  c.set("began", "yes");
  await next();
  c.header("X-Began", c.get("began"));
});

app.get("/", (c) => c.text("hello"));
app.get("/json", (c) => c.json({ ok: true, list: [1, "ü", null] }));
app.get("/html", (c) => c.html(html`<p>${"<escaped> & more"}</p>`));
app.get("/status", (c) => c.body(null, 204));
app.get("/redirect", (c) => c.redirect("/json", 301));
app.get("/header", (c) => {
  c.header("X-One", "1");
  c.header("X-Many", "a", { append: true });
  c.header("X-Many", "b", { append: true });
  return c.text(c.req.header("X-In") ?? "none", 201);
});

app.get("/user/:name", (c) => c.text(`user ${c.req.param("name")}`));
app.get("/user/:name/post/:id{[0-9]+}", (c) => c.json(c.req.param()));
app.get("/files/*", (c) => c.text(`file ${c.req.path.slice("/files/".length)}`));
app.get("/maybe/:extra?", (c) => c.text(c.req.param("extra") ?? "nothing"));
app.get("/query", (c) => c.json({ one: c.req.query("q"), all: c.req.queries("q"), rest: c.req.query() }));
app.all("/any", (c) => c.text(c.req.method));
const sub = new Hono().get("/deep", (c) => c.text("deep"));
app.route("/sub", sub);

app.get("/cors/data", (c) => c.json({ cors: true }));
app.get("/etag/data", (c) => c.text("content with a tag"));
app.get("/logged/x", (c) => c.text("logged"));
app.get("/admin/page", (c) => c.text("admin"));
app.get("/timed/x", (c) => c.text(c.get("began")));
app.get("/secure/x", (c) => c.text("secure"));
app.get("/id", (c) => c.text(c.get("requestId")));
app.get("/slow", async (c) => {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return c.text("late");
});

app.get("/token", async (c) => c.text(await sign({ sub: "somebody" }, SECRET, "HS256")));
app.get("/jwt/me", (c) => c.json(c.get("jwtPayload")));

app.get("/cookie", (c) => {
  const seen = getCookie(c, "seen") ?? "never";
  setCookie(c, "seen", "yes, once", { path: "/", httpOnly: true, maxAge: 60 });
  deleteCookie(c, "old");
  return c.text(seen);
});
app.get("/signed", async (c) => {
  const value = await getSignedCookie(c, SECRET, "who");
  await setSignedCookie(c, "who", "me", SECRET);
  return c.json({ value: value ?? null });
});

app.post("/json", async (c) => c.json(await c.req.json()));
app.post("/text", async (c) => c.text((await c.req.text()).toUpperCase()));
app.post("/bytes", async (c) => c.body(new Uint8Array(await c.req.arrayBuffer()).reverse()));
app.post("/form", async (c) => {
  const form = await c.req.parseBody({ all: true });
  const shown = {};
  for (const [name, value] of Object.entries(form)) {
    shown[name] = value instanceof File ? { file: value.name, type: value.type, size: value.size } : value;
  }
  return c.json(shown);
});
app.post("/upload", async (c) => {
  const { file } = await c.req.parseBody();
  return c.body(await file.arrayBuffer(), 200, { "Content-Type": file.type });
});
app.post("/twice", async (c) => c.json([await c.req.text(), await c.req.json()]));
app.post("/limited", async (c) => c.text(await c.req.text()));

app.get("/stream", (c) =>
  stream(c, async (out) => {
    for (let i = 0; i < 3; i++) {
      await out.write(new Uint8Array([i, 255 - i]));
      await out.sleep(1);
    }
    await out.pipe(new Blob(["piped"]).stream());
  }));
app.get("/text-stream", (c) =>
  streamText(c, async (out) => {
    for (const word of ["one", "two", "drei ü"]) {
      await out.writeln(word);
      await out.sleep(1);
    }
  }));
app.get("/sse", (c) =>
  streamSSE(c, async (out) => {
    for (let i = 0; i < 2; i++) {
      await out.writeSSE({ event: "tick", id: String(i), data: `line ${i}\nsecond` });
      await out.sleep(1);
    }
  }));
let aborted = "not yet";
app.get("/endless", (c) =>
  stream(c, async (out) => {
    out.onAbort(() => void (aborted = "aborted"));
    while (!out.aborted) {
      await out.write("x");
      await out.sleep(1);
    }
  }));
app.get("/endless/state", (c) => c.text(aborted));

app.get("/throw", () => {
  throw new Error("thrown on purpose");
});
app.get("/http-exception", () => {
  throw new HTTPException(418, { message: "a teapot" });
});
app.notFound((c) => c.text(`no ${c.req.path}`, 404));
app.onError((error, c) =>
  error instanceof HTTPException ? error.getResponse() : c.json({ error: error.message }, 500));

export default app;
