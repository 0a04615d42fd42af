"use strict";
// What programs and their users may do to confuse answers with each other.

const assert = require("node:assert/strict");
const net = require("node:net");
const { inspect } = require("node:util");
const { Worker } = require("node:worker_threads");
const { ServedRequest } = require("../../package/serve/request.cjs");
const { test, serving, serve, ask, exchange, sleep } = require("./harness.cjs");

/** Requests on one connection in one piece, so that they are one batch; the bodies of their answers. */
async function batch(server, targets) {
  const requests = targets.map((target, at) => {
    const connection = at === targets.length - 1 ? "close" : "keep-alive";
    return `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: ${connection}\r\n\r\n`;
  });
  const text = await exchange(server, requests.join(""));
  return text.split(/HTTP\/1\.1 /).slice(1).map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4));
}

/** The same on connections of their own, sent at the same time. */
async function together(server, targets) {
  const answers = await Promise.all(targets.map((target) => ask(server, target)));
  return answers.map((answer) => answer.body);
}

test("bytes whose memory has gone answer nobody else", (reports) => {
  const detached = () => {
    const bytes = new Uint8Array([1, 2, 3]);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    return bytes;
  };
  class Liar extends Uint8Array {
    get byteLength() { return 1000; }
  }
  const routes = {
    "/detached": detached,
    "/liar": () => new Liar([104, 105]),
    "/proxy": () => new Proxy(new Uint8Array(3), {}),
    "/mine": () => new Response("mine", { headers: { "x-whose": "mine" } }),
  };
  return serving({ routes }, async (server) => {
    for (let round = 0; round < 20; round++) {
      const bodies = await together(server, ["/mine", "/detached", "/mine", "/liar", "/proxy", "/mine"]);
      assert.deepEqual([0, 2, 3, 5].map((at) => bodies[at]), ["mine", "mine", "hi", "mine"]);
    }
    reports.length = 0;
  });
});

test("a header's value is one field, whatever characters it has", (reports) =>
  serving({
    fetch: (request) => {
      const value = decodeURIComponent(request.url.split("?")[1]);
      const headers = request.method === "GET" ? { "x-value": value } : { [value]: "x" };
      return new Response("x", { headers });
    },
  }, async (server) => {
    // Their low bytes are a line feed, a carriage return, and nothing.
    for (const odd of ["\u010a", "\u4e0d", "\u0100", "\n", "\r", "\0", "\x7f", "\u{1f30a}"]) {
      for (const method of ["GET", "PUT"]) {
        const answer = await ask(server, `/?${encodeURIComponent(`a${odd}set-cookie${odd}admin=1`)}`, { method });
        assert.equal(answer.status, 500, JSON.stringify(odd));
        assert.ok(!/admin/i.test(answer.head), answer.head);
      }
    }
    const answer = await ask(server, `/?${encodeURIComponent("caf\u00e9 \u00ff")}`);
    assert.ok(answer.head.includes("x-value: caf\u00e9 \u00ff"), answer.head);
    reports.length = 0;
  }));

test("requests and streams of a server that has ended know nothing of the next one", async (reports) => {
  let kept;
  const pieces = (text) => new Response(new ReadableStream({
    async pull(controller) {
      await sleep(30);
      controller.enqueue(Buffer.from(text));
    },
  }));
  const first = serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: { "/kept": async (request) => { kept = request; await sleep(5000); }, "/pieces": () => pieces("first ") },
  });
  const ends = [exchange(first, "GET /kept HTTP/1.1\r\nHost: h\r\n\r\n"), exchange(first, "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n")];
  await sleep(100);
  await first.stop(true);
  await Promise.allSettled(ends);
  await serving({ routes: { "/wait": async () => { await sleep(300); return "done"; }, "/pieces": () => pieces("second ") } }, async (server) => {
    const waiting = ask(server, "/wait", { headers: "Authorization: secret\r\n" });
    const streamed = exchange(server, "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n", "second \r\n7\r\nsecond \r\n7\r\nsecond ");
    await sleep(100);
    assert.throws(() => kept.headers.get("authorization"), /has been stopped|is over/);
    assert.ok(!(await streamed).includes("first"));
    await waiting;
  });
  reports.length = 0;
});

test("an error that cannot be shown is 500, and the others are answered", (reports) => {
  const unshowable = { get [Symbol.toStringTag]() { throw new Error("toStringTag"); }, [Symbol.for("nodejs.util.inspect.custom")]() { throw new Error("inspect"); } };
  const unreadable = new Proxy(new Error("x"), { getPrototypeOf() { throw new Error("prototype"); }, get() { throw new Error("get"); } });
  const routes = {
    "/unshowable": () => { throw unshowable; },
    "/unreadable": () => { throw unreadable; },
    "/then": () => ({ get then() { throw unreadable; } }),
    "/fine": () => "fine",
  };
  console.error = (...args) => reports.push(inspect(args));
  return serving({ routes, development: true }, async (server) => {
    for (const bad of ["/unshowable", "/unreadable", "/then"]) {
      const bodies = await together(server, ["/fine", bad, "/fine", "/fine"]);
      assert.deepEqual([bodies[0], bodies[2], bodies[3]], ["fine", "fine", "fine"], bad);
      assert.ok(bodies[1].includes("Internal Server Error"), bodies[1]);
    }
    reports.length = 0;
  });
});

test("a stream of something else than bytes is a fault of its request alone", (reports) =>
  serving({
    routes: {
      "/number": () => new Response(new ReadableStream({ start(controller) { controller.enqueue(123); controller.close(); } })),
      "/later": () => new Response(new ReadableStream({
        async start(controller) {
          controller.enqueue(Buffer.from("begun"));
          await sleep(20);
          controller.enqueue({});
        },
      })),
      "/fine": () => "fine",
    },
  }, async (server) => {
    assert.equal((await ask(server, "/number")).status, 500);
    const cut = await exchange(server, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    assert.ok(cut.includes("begun") && !cut.endsWith("0\r\n\r\n"), cut);
    assert.equal((await ask(server, "/fine")).body, "fine");
    reports.length = 0;
  }));

test("a stream is cancelled when its client leaves, also while it waits for its next piece", async () => {
  let cancelled = 0;
  let aborted = 0;
  await serving({
    fetch: (request) => {
      request.signal.addEventListener("abort", () => aborted++);
      return new Response(new ReadableStream({
        start(controller) { controller.enqueue(Buffer.from("first")); },
        cancel() { cancelled++; },
      }));
    },
  }, async (server) => {
    for (let at = 0; at < 5; at++) await exchange(server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "first");
    for (let looks = 0; looks < 100 && cancelled < 5; looks++) await sleep(20);
    assert.deepEqual([cancelled, aborted], [5, 5]);
    // One that is there when the server ends.
    const last = exchange(server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await sleep(100);
    await server.stop(true);
    await last;
    assert.deepEqual([cancelled, aborted], [6, 6]);
  });
});

test("a reload in the middle of a batch leaves each request its own handler", async () => {
  for (let round = 0; round < 10; round++) {
    await serving({
      routes: {
        "/public/:name": (request) => `public ${request.params.name}`,
        "/admin": () => "secret",
        "/reload": (request, self) => {
          self.reload({
            routes: { "/admin": () => "new secret", "/reload": () => "again", "/public/:other": (request) => `new public ${request.params.other}` },
          });
          return "reloaded";
        },
      },
    }, async (server) => {
      const bodies = await together(server, ["/reload", "/public/a", "/public/b", "/public/c", "/public/d"]);
      assert.ok(bodies.slice(1).every((body, at) => body.endsWith(`public ${"abcd"[at]}`)), bodies.join(", "));
      assert.deepEqual(await batch(server, ["/public/e", "/admin"]), ["new public e", "new secret"]);
      assert.equal(server.olderTables.size, 0);
    });
  }
});

test("signals of requests are forgotten with them", () =>
  serving({ fetch: async (request) => { request.signal; await sleep(1); return "x"; } }, async (server) => {
    for (let round = 0; round < 10; round++) await together(server, Array.from({ length: 16 }, () => "/"));
    assert.equal(server.signals.size, 0);
  }));

test("a body that was read is read, whatever is asked for afterwards", () =>
  serving({
    routes: {
      "/clone": { POST: async (request) => { await request.text(); try { request.clone(); return "cloned"; } catch (error) { return `${error.name} ${request.bodyUsed}`; } } },
      "/again": { POST: async (request) => { await request.json(); const again = await request.formData().catch((error) => error.name); return `${again} ${request.bodyUsed}`; } },
      "/before": { POST: async (request) => `${await request.clone().text()} ${await request.text()}` },
    },
  }, async (server) => {
    const post = async (target) => (await ask(server, target, { method: "POST", body: "[1]" })).body;
    assert.equal(await post("/clone"), "TypeError true");
    assert.equal(await post("/again"), "TypeError true");
    assert.equal(await post("/before"), "[1] [1]");
  }));

test("a signal that is asked for after the client has left is aborted", async () => {
  let told;
  const late = new Promise((resolve) => { told = resolve; });
  await serving({ fetch: async (request) => { await sleep(200); told(request.signal.aborted); return "late"; } }, async (server) => {
    const socket = net.connect(server.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    await sleep(50);
    socket.destroy();
    await late;
  });
  assert.equal(await late, true);
});

test("no handler runs before serve has returned", async () => {
  const routes = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`/route/${at}`, () => "x"]));
  let server;
  const seen = [];
  const port = await new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => resolve(port)); });
  });
  const knocking = new Worker(`
    const net = require("node:net");
    const { parentPort, workerData } = require("node:worker_threads");
    const knock = () => { const socket = net.connect(workerData, "127.0.0.1", () => socket.write("GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n")); socket.on("error", () => setTimeout(knock, 1)); socket.on("data", (data) => parentPort.postMessage(String(data))); };
    knock(); parentPort.postMessage("up");
  `, { eval: true, workerData: port });
  await new Promise((resolve) => knocking.once("message", resolve));
  const answered = new Promise((resolve) => knocking.once("message", resolve));
  server = serve({ port, hostname: "127.0.0.1", routes, fetch: () => { seen.push(server !== undefined); return "x"; } });
  await answered;
  await knocking.terminate();
  await server.stop(true);
  assert.deepEqual(seen, [true]);
});

test("parameters that a full batch had no room for stay after the answer", () => {
  const numbers = new Int32Array(32);
  // At place 8: no parameter is in the batch.
  numbers.set([0, 1, 0, 0, 0, 6, -1, 0, 0]);
  numbers[19] = 1;
  let isAnswered = false;
  const param = () => {
    assert.ok(!isAnswered, "asked after the answer");
    return "b";
  };
  const wire = { numbers, bytes: Buffer.from("/a/%62h"), batch: 1, native: { param }, id: 1 };
  const request = new ServedRequest({ wire }, 0, ["name"]);
  request.keep();
  isAnswered = true;
  wire.batch++;
  assert.deepEqual(request.params, { name: "b" });
});
