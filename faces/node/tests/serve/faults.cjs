"use strict";
// Handlers and clients that do wrong, and what the whole process uses.

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const { test, serve, serving, ask, exchange, load, sleep, isBun } = require("./harness.cjs");

const rssMiB = () => process.memoryUsage.rss() / 1024 / 1024;
const collect = () => (isBun ? Bun.gc(true) : globalThis.gc?.());

test("handlers that fail are 500, reported, and the server lives", async (reports) => {
  await serving(
    {
      routes: {
        "/throws": () => { throw new Error("thrown"); },
        "/rejects": async () => { throw new Error("rejected"); },
        "/throws-text": () => { throw "just text"; },
        "/function": () => () => {},
        "/symbol": () => Symbol("s"),
        "/cycle": () => { const a = {}; a.a = a; return a; },
        "/bigint": () => ({ n: 1n }),
        "/header": () => new Response("x", { headers: { "x-a": "a\nb" } }),
        "/status": () => new Response("x", { status: 42 }),
        "/used": async () => { const response = new Response("once"); await response.text(); return response; },
        "/well": () => "well",
      },
    },
    async (server) => {
      for (const target of ["/throws", "/rejects", "/throws-text", "/function", "/symbol", "/cycle", "/bigint", "/header", "/status", "/used"]) {
        assert.equal((await ask(server, target)).status, 500, target);
      }
      assert.equal((await ask(server, "/well")).body, "well");
    },
  );
  assert.ok(reports.length >= 10, `${reports.length} reports`);
});

test("a handler that never settles is 504", () =>
  serving({ fetch: () => new Promise(() => {}), handlerTimeout: 0.2 }, async (server) => {
    assert.equal((await ask(server, "/")).status, 504);
    assert.equal(server.pendingRequests, 0);
  }));

test("ten thousand answers after the client has gone leave nothing", async () => {
  let settled = 0;
  let aborted = 0;
  // Functions of the clients, by the paths that they ask for: they leave once their handler runs.
  const leave = new Map();
  const handler = async (request) => {
    request.signal.addEventListener("abort", () => aborted++);
    leave.get(new URL(request.url).pathname)?.();
    await sleep(30);
    settled++;
    return "x".repeat(1000);
  };
  await serving({ fetch: handler }, async (server) => {
    const rush = async (count) => {
      const before = settled;
      for (let n = 0; n < count; n += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, at) => new Promise((resolve) => {
          const socket = net.connect(server.port, "127.0.0.1", () => {
            leave.set(`/${at}`, () => { socket.destroy(); resolve(); });
            socket.write(`GET /${at} HTTP/1.1\r\nHost: h\r\n\r\n`);
          });
          socket.on("error", resolve);
        })));
      }
      for (let n = 0; n < 500 && server.pendingRequests > 0; n++) await sleep(10);
      await sleep(60);
      return settled - before;
    };
    await rush(2_000);
    collect();
    const before = rssMiB();
    const answered = await rush(10_000);
    collect();
    assert.ok(answered > 5_000, `${answered} handlers ran to their end`);
    assert.ok(aborted > 1_000, `${aborted} were told`);
    assert.equal(server.pendingRequests, 0);
    assert.ok(rssMiB() - before < 40, `${before} MiB became ${rssMiB()} MiB`);
  });
});

test("aborted uploads reach no handler", async () => {
  let calls = 0;
  await serving({ fetch: () => { calls++; return "x"; } }, async (server) => {
    for (let n = 0; n < 50; n++) {
      await new Promise((resolve) => {
        const socket = net.connect(server.port, "127.0.0.1", () => {
          socket.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc", () => setTimeout(() => { socket.destroy(); resolve(); }, 2));
        });
      });
    }
    assert.equal((await ask(server, "/")).body, "x");
    assert.equal(calls, 1);
  });
});

test("ambiguous framing is refused", () =>
  serving({ fetch: async (request) => `${request.method} ${await request.text()}` }, async (server) => {
    const refused = [
      ["GET / HTTP/1.1\r\n\r\n", 400],
      ["GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
      ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
      ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc", 400],
      ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400],
      ["POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501],
      ["POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400],
      ["GET / HTTP/1.1\nHost: h\n\n", 400],
      ["GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400],
      ["GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400],
      ["GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505],
      [`GET / HTTP/1.1\r\nHost: h\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431],
      [`GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`, 414],
    ];
    for (const [bytes, status] of refused) {
      const text = await exchange(server, bytes, "\r\n\r\n");
      assert.equal(Number(text.slice(9, 12)), status, JSON.stringify(bytes.slice(0, 80)));
    }
    const chunked = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert.match(await exchange(server, [...chunked]), /POST abcde$/);
  }));

test("a thousand starts and stops leave nothing", async () => {
  const cycle = async (count) => {
    for (let n = 0; n < count; n++) {
      const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => "x" });
      if (n % 10 === 0) assert.equal((await ask(server, "/")).body, "x");
      await server.stop(n % 2 === 0);
    }
  };
  const files = () => fs.readdirSync("/proc/self/fd").length;
  const threads = () => fs.readdirSync("/proc/self/task").length;
  await cycle(200);
  collect();
  await sleep(50);
  const before = { files: files(), threads: threads(), rss: rssMiB() };
  await cycle(1000);
  collect();
  await sleep(100);
  const after = { files: files(), threads: threads(), rss: rssMiB() };
  assert.ok(after.files <= before.files + 3, `${before.files} descriptors became ${after.files}`);
  assert.ok(after.threads <= before.threads + 3, `${before.threads} threads became ${after.threads}`);
  assert.ok(after.rss < before.rss + 30, `${before.rss} MiB became ${after.rss} MiB`);
});

test("timers of the program are on time under load", () =>
  serving({ fetch: () => Response.json({ hello: "world" }) }, async (server) => {
    // The load comes from another process: what it costs is not the server's.
    const loader = spawn(process.execPath, [__filename, "load", String(server.port)], { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((resolve) => loader.stdout.once("data", resolve));
    const late = [];
    for (let n = 0; n < 150; n++) {
      const begun = performance.now();
      await sleep(10);
      late.push(performance.now() - begun - 10);
    }
    loader.kill();
    late.sort((a, b) => a - b);
    // A server that holds up timers does so with most of them; a machine that is busy, with some.
    const median = late[Math.floor(late.length / 2)];
    const most = Number(process.env.SAMPAN_LATE_MILLIS ?? 5);
    assert.ok(median <= most, `median ${median.toFixed(1)} ms late`);
  }));

test("an idle server uses no time", () =>
  serving({ fetch: () => "x" }, async (server) => {
    assert.equal((await ask(server, "/")).body, "x");
    await sleep(300);
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 30_000, `${user + system} µs`);
  }));

/** Runs a program that serves and then ends in some way under load; gives its exit status. */
async function ended(ending) {
  const program = `
    const { serve } = require(${JSON.stringify(require.resolve("./harness.cjs"))});
    const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => "x" });
    console.log(server.port);
    setTimeout(() => { ${ending} }, 300);`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"], env: process.env });
  const exit = new Promise((resolve) => child.on("exit", (status, signal) => resolve(signal ?? status)));
  const port = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(Number(data))));
  const stop = load({ port }, "/", 20);
  const status = await exit;
  assert.ok(stop() > 20);
  return status;
}

test("process.exit and an uncaught exception under load end the program as they say", async () => {
  assert.equal(await ended("process.exit(7)"), 7);
  assert.equal(await ended("throw new Error('uncaught')"), 1);
});

test("a worker thread that is terminated takes its server with it", async () => {
  const { Worker } = require("node:worker_threads");
  const program = `
    const { parentPort } = require("node:worker_threads");
    const { serve } = require(${JSON.stringify(require.resolve("./harness.cjs"))});
    const server = serve({ port: 0, hostname: "127.0.0.1", fetch: () => "from a worker" });
    parentPort.postMessage(server.port);`;
  for (let n = 0; n < 5; n++) {
    const worker = new Worker(program, { eval: true, env: process.env });
    const port = await new Promise((resolve, reject) => { worker.once("message", resolve); worker.once("error", reject); });
    const stop = load({ port }, "/", 10);
    for (let asked = 0; asked < 20; asked++) await ask({ port }, "/");
    await worker.terminate();
    assert.ok(stop() > 0);
    await assert.rejects(ask({ port }, "/"));
  }
});

if (process.argv[2] === "load") {
  load({ port: Number(process.argv[3]) }, "/", 32);
  process.stdout.write("ready");
}
