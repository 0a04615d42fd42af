"use strict";
// Frameworks from npm on `serve`, unchanged: `SAMPAN_FRAMEWORKS` is a folder where they are installed.

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");
const { test, serving, ask, isBun } = require("./harness.cjs");

const folder = process.env.SAMPAN_FRAMEWORKS;
const load = (name) => import(pathToFileURL(createRequire(`${folder}/x.js`).resolve(name)).href);

/** What every framework's app must answer. */
async function answers(server) {
  const json = await ask(server, "/json");
  assert.deepEqual([json.status, json.body], [200, '{"hello":"world"}']);
  assert.match(json.head, /content-type: application\/json/i);
  assert.equal((await ask(server, "/user/7%208")).body, "7 8");
  const echo = await ask(server, "/echo", { method: "POST", body: '{"a":"ü"}', headers: "Content-Type: application/json\r\n" });
  assert.equal(echo.body, '{"a":"ü"}');
  assert.equal((await ask(server, "/nowhere")).status, 404);
}

if (folder !== undefined) {
  test("Hono", async () => {
    const { Hono } = await load("hono");
    const { cors } = await load("hono/cors");
    const app = new Hono();
    app.use("/echo", cors());
    app.get("/json", (c) => c.json({ hello: "world" }));
    app.get("/user/:id", (c) => c.text(c.req.param("id")));
    app.post("/echo", async (c) => c.json(await c.req.json()));
    app.get("/cookie", (c) => { c.header("Set-Cookie", "a=1", { append: true }); c.header("Set-Cookie", "b=2", { append: true }); return c.html("<b>"); });
    await serving({ fetch: app.fetch }, async (server) => {
      await answers(server);
      const cookies = await ask(server, "/cookie");
      assert.match(cookies.head, /set-cookie: a=1[^]*set-cookie: b=2/i);
      const preflight = await ask(server, "/echo", { method: "OPTIONS", headers: "Origin: http://o\r\nAccess-Control-Request-Method: POST\r\n" });
      assert.equal(preflight.status, 204);
    });
  });

  // Its adapter for Bun cannot be imported elsewhere.
  if (isBun) {
    test("Hono's WebSockets", async () => {
      const { Hono } = await load("hono");
      const { upgradeWebSocket, websocket } = await load("hono/bun");
      const app = new Hono();
      app.get("/ws/:room", upgradeWebSocket((c) => ({ onMessage: (event, ws) => ws.send(`${c.req.param("room")}: ${event.data}`) })));
      await serving({ fetch: app.fetch, websocket }, async (server) => {
        const client = new WebSocket(`ws://127.0.0.1:${server.port}/ws/a`);
        const message = await new Promise((resolve, reject) => {
          client.addEventListener("open", () => client.send("hi"));
          client.addEventListener("message", ({ data }) => resolve(data));
          client.addEventListener("error", () => reject(new Error("refused")));
        });
        assert.equal(message, "a: hi");
        client.close();
      });
    });
  }

  test("itty-router", async () => {
    const { AutoRouter } = await load("itty-router");
    const app = AutoRouter();
    app.get("/json", () => ({ hello: "world" }));
    app.get("/user/:id", ({ params }) => new Response(decodeURIComponent(params.id)));
    app.post("/echo", (request) => request.json());
    await serving({ fetch: (request) => app.fetch(request) }, answers);
  });

  test("h3", async () => {
    const { H3, readBody, getRouterParam } = await load("h3");
    const app = new H3();
    app.get("/json", () => ({ hello: "world" }));
    app.get("/user/:id", (event) => decodeURIComponent(getRouterParam(event, "id")));
    app.post("/echo", (event) => readBody(event));
    await serving({ fetch: (request) => app.fetch(request) }, answers);
  });

  test("Elysia", async () => {
    const { Elysia } = await load("elysia");
    const app = new Elysia();
    app.get("/json", () => ({ hello: "world" }));
    app.get("/user/:id", ({ params }) => params.id);
    app.post("/echo", ({ body }) => body);
    await serving({ fetch: (request) => app.fetch(request) }, answers);
  });
}
