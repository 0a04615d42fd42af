"use strict";
// Options that are wrong are told by name; those that are right do what they say.

const assert = require("node:assert/strict");
const { test, serve, serving, ask, exchange, sleep } = require("./harness.cjs");

test("wrong options are named", () => {
  const fetch = () => "x";
  const wrong = (options, part) => assert.throws(() => serve({ port: 0, hostname: "127.0.0.1", ...options }), part);
  assert.throws(() => serve(), /give an object of options/);
  wrong({}, /give routes, or fetch/);
  wrong({ fetch, prot: 1 }, /there is no option "prot"; there are port/);
  wrong({ fetch, port: 70000 }, /port must be a number from 0 to 65535/);
  wrong({ fetch, port: "x" }, /port must be a number/);
  wrong({ fetch: 1 }, /fetch must be a function/);
  wrong({ fetch, websocket: {} }, /websocket needs a function message/);
  wrong({ fetch, signal: {} }, /signal must be an AbortSignal/);
  wrong({ fetch, maxBody: -1 }, /maxBody must be a number/);
  wrong({ fetch, maxBody: 2 ** 31 }, /maxBody must be a number from 0 to 2147483647, not 2147483648/);
  wrong({ fetch, maxRequestBodySize: 2 ** 31 }, /maxRequestBodySize must be a number from 0 to 2147483647/);
  wrong({ routes: { users: fetch } }, /must begin with '\/'/);
  wrong({ routes: { "/a": 7 } }, /routes\["\/a"\] must be a function, a Response/);
  wrong({ routes: { "/a": { FETCH: fetch } } }, /"FETCH" is no method/);
  wrong({ routes: { "/a/:x": fetch, "/a/:y": fetch } }, /matches the same paths/);
  wrong({ fetch, hostname: "no.such.host.invalid" }, /no\.such\.host\.invalid/);
  wrong({ fetch, static: {} }, /"static": routes takes a Response/);
  wrong({ fetch, host: "127.0.0.1" }, /called hostname/);
  wrong({ fetch, maxBody: 1, maxRequestBodySize: 2 }, /mean the same/);
  wrong({ routes: new Map([["/", fetch]]) }, /routes must be an object of patterns/);
  wrong({ routes: [] }, /routes must be an object of patterns/);
  wrong({ routes: { "/a": Promise.resolve(new Response("x")) } }, /routes\["\/a"\] is a promise/);
  wrong({ routes: { "/a": {} } }, /routes\["\/a"\] has no method/);
  wrong({ routes: { "/a": { POST: undefined } } }, /routes\["\/a"\] has no method/);
  wrong({ routes: { "/a": { GET: 5 } } }, /routes\["\/a"\]\.GET must be a function or a Response, not 5/);
  wrong({ routes: { "/a": { GET: fetch, HEAD: fetch } } }, /routes\["\/a"\]\.HEAD: GET answers HEAD too/);
  wrong({ routes: { "/a": [fetch] } }, /routes\["\/a"\] must be a function/);
  const used = new Response("x");
  used.text();
  wrong({ routes: { "/a": used } }, /routes\["\/a"\]: the body of this Response was read/);
  class App {
    routes = [];
    fetch() {}
  }
  assert.throws(() => serve(new App()), /serve\(\{ fetch: app\.fetch \}\)/);
  process.env.PORT = "abc";
  try {
    assert.throws(() => serve({ fetch }), /PORT of the environment must be a number/);
  } finally {
    delete process.env.PORT;
  }
});

test("a method that is undefined is not there", () =>
  serving({ routes: { "/a": { GET: () => "got", POST: undefined } } }, async (server) => {
    assert.equal((await ask(server, "/a")).body, "got");
    assert.equal((await ask(server, "/a", { method: "POST", body: "x" })).status, 405);
  }));

test("a port in use is told", () =>
  serving({ fetch: () => "x" }, async (server) => {
    assert.throws(() => serve({ port: server.port, hostname: "127.0.0.1", fetch: () => "y" }), (error) => {
      assert.match(error.message, /in use/i);
      const { code, syscall, address, port } = error;
      assert.deepEqual({ code, syscall, address, port }, { code: "EADDRINUSE", syscall: "listen", address: "127.0.0.1", port: server.port });
      return true;
    });
    assert.throws(() => serve({ port: 0, hostname: "192.0.2.1", fetch: () => "y" }), { code: "EADDRNOTAVAIL" });
    assert.throws(() => serve({ port: 0, hostname: "no.such.host.invalid", fetch: () => "y" }), { code: "ENOTFOUND" });
    assert.equal((await ask(server, "/")).body, "x");
  }));

test("error answers in the place of a handler that failed", () =>
  serving(
    {
      routes: { "/boom": () => { throw new Error("boom"); }, "/twice": () => { throw new Error("twice"); } },
      error: (error) => {
        if (error.message === "twice") throw new Error("again");
        return new Response(`sorry: ${error.message}`, { status: 503 });
      },
    },
    async (server) => {
      const answer = await ask(server, "/boom");
      assert.deepEqual([answer.status, answer.body], [503, "sorry: boom"]);
      assert.equal((await ask(server, "/twice")).status, 500);
    },
  ));

test("a body above maxBody is refused before it is read", () =>
  serving({ fetch: async (request) => await request.text(), maxBody: 10 }, async (server) => {
    assert.equal((await ask(server, "/", { method: "POST", body: "0123456789" })).body, "0123456789");
    const refused = await exchange(server, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", "413");
    assert.match(refused, /^HTTP\/1\.1 413/);
  }));

test("reload puts other routes in place, and keeps the old where they are wrong", () =>
  serving({ routes: { "/a": () => "old" } }, async (server) => {
    server.reload({ routes: { "/a": () => "new", "/b": new Response("b") } });
    assert.equal((await ask(server, "/a")).body, "new");
    assert.throws(() => server.reload({ routes: { "/a": 7 } }), /must be a function/);
    assert.equal((await ask(server, "/b")).body, "b");
  }));

test("a reload keeps what it does not name", () => {
  const routes = { "/a": () => "a1", "/b": () => { throw new Error("x"); } };
  const options = { routes, fetch: () => "f1", error: () => "e1", maxBody: 10 };
  return serving(options, async (server) => {
    const all = async () => (await Promise.all(["/a", "/b", "/c"].map(async (target) => (await ask(server, target)).body))).join(" ");
    assert.equal(server.reload({ fetch: () => "f2" }), server);
    assert.equal(await all(), "a1 e1 f2");
    server.reload({ error: () => "e2" });
    assert.equal(await all(), "a1 e2 f2");
    server.reload({ routes: { "/b": routes["/b"] } });
    assert.equal(await all(), "f2 e2 f2");
    server.reload({ ...options, port: server.port, fetch: undefined });
    assert.equal(await all(), "a1 e1 f2");
    assert.throws(() => server.reload({ port: 1 }), /reload cannot change port/);
    assert.throws(() => server.reload({ maxBody: 11 }), /reload cannot change maxBody/);
    assert.throws(() => server.reload({ rutes: {} }), /there is no option "rutes"/);
    assert.throws(() => server.reload(), /reload takes an object/);
    assert.equal(await all(), "a1 e1 f2");
  });
});

test("options may be those of a class, also for a reload", () => {
  class Program {
    port = 0;
    hostname = "127.0.0.1";
    fetch() {
      return "class";
    }
  }
  const server = serve(new Program());
  server.reload({ error: () => "e" });
  return ask(server, "/").then(({ body }) => assert.equal(body, "class")).finally(() => server.stop(true));
});

test("signal ends a server", async () => {
  const controller = new AbortController();
  const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => "x", signal: controller.signal });
  assert.equal((await ask(server, "/")).body, "x");
  controller.abort();
  await server.stop();
  await assert.rejects(ask(server, "/"));
});

test("a signal keeps nothing of a server that has ended", async () => {
  const { signal } = new AbortController();
  const listeners = new Set();
  signal.addEventListener = (_, listener) => listeners.add(listener);
  signal.removeEventListener = (_, listener) => listeners.delete(listener);
  const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => "x", signal });
  assert.equal(listeners.size, 1);
  await server.stop();
  assert.equal(listeners.size, 0);
});

test("times below a millisecond are one", () =>
  serving({ fetch: () => "x", idleTimeout: 1e-9, handlerTimeout: 0.0005 }, (server) => {
    assert.equal(server.handlerSeconds, 0.001);
  }));

test("a server that stops looks by one timer, which holds the program only where the server does", async () => {
  let end;
  const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise((resolve) => { end = resolve; }) });
  const answer = ask(server, "/");
  for (let looks = 0; looks < 500 && end === undefined; looks++) await sleep(2);
  server.unref();
  const stopped = server.stop();
  // As a stream does with each of its pieces.
  for (let pieces = 0; pieces < 50; pieces++) {
    server.schedule();
    await sleep(2);
  }
  assert.equal(server.lookTimer?.hasRef() ?? false, false);
  server.ref();
  assert.equal(server.lookTimer?.hasRef() ?? true, true);
  const { setTimeout } = globalThis;
  let timers = 0;
  globalThis.setTimeout = (...args) => {
    timers++;
    return setTimeout(...args);
  };
  await new Promise((resolve) => setTimeout(resolve, 200));
  globalThis.setTimeout = setTimeout;
  assert.ok(timers <= 15, `${timers} timers`);
  end("done");
  assert.equal((await answer).body, "done");
  await stopped;
});

test("stop waits for what is in flight, and takes nothing new", async () => {
  let begin;
  let end;
  const begun = new Promise((resolve) => { begin = resolve; });
  const ending = new Promise((resolve) => { end = resolve; });
  const slow = async () => { begin(); await ending; return "done"; };
  const server = serve({ port: 0, hostname: "127.0.0.1", routes: { "/slow": slow } });
  const answer = ask(server, "/slow");
  await begun;
  assert.equal(server.pendingRequests, 1);
  const stopped = server.stop();
  await assert.rejects(ask(server, "/slow"));
  end();
  assert.equal((await answer).body, "done");
  await stopped;
  assert.equal(server.pendingRequests, 0);
});
