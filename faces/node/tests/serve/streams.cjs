"use strict";
// Answers that are sent piece by piece: what their sources see, and how they end.

const assert = require("node:assert/strict");
const net = require("node:net");
const { makeServe } = require("../../package/serve/serve.cjs");
const { test, serve, serving, ask, exchange, native, sleep } = require("./harness.cjs");

/** Waits until `look` gives something true. */
async function until(look, what) {
  for (let looks = 0; looks < 1000; looks++) {
    if (look()) return;
    await sleep(10);
  }
  throw new Error(`${what} did not happen`);
}

/** Writes a request, and collects what comes until the connection ends, however long that takes. */
function collect(server, target) {
  const collected = { text: "" };
  const socket = net.connect(server.port, "127.0.0.1", () => socket.write(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`));
  socket.on("data", (data) => { collected.text += data.toString("latin1"); });
  socket.on("error", () => {});
  collected.ended = new Promise((resolve) => socket.on("close", resolve));
  return collected;
}

test("the source of a stream may ask its request for all that it has", async () => {
  let signal;
  const pieces = async function* (request) {
    yield "begun ";
    await sleep(50);
    signal = request.signal;
    const { method, params, headers } = request;
    yield [method, params.a, params.e, headers.get("x-a"), [...headers].length > 1, await request.text(), signal.aborted, "."].join(" ");
    for (;;) {
      await sleep(5);
      yield "more ";
    }
  };
  await serving({ routes: { "/:a/:b/:c/:d/:e": pieces } }, async (server) => {
    const text = await exchange(server, "POST /1/2/3/4/5 HTTP/1.1\r\nHost: h\r\nX-A: 7\r\nContent-Length: 4\r\n\r\nbody", "more");
    assert.ok(text.includes("POST 1 5 7 true body false ."), text);
    await until(() => signal.aborted, "the abort");
    assert.match(String(signal.reason), /the client left/);
  });
});

test("a stream that finds its client gone when it writes is cancelled", async () => {
  let cancelled = 0;
  const gone = makeServe(Object.assign({}, native, { write: () => 2 }));
  const fetch = () => new Response(new ReadableStream({
    async pull(controller) {
      await sleep(20);
      controller.enqueue(Buffer.from("piece"));
    },
    cancel() { cancelled++; },
  }));
  const server = gone({ port: 0, hostname: "127.0.0.1", fetch });
  const collected = collect(server, "/");
  await until(() => cancelled === 1, "the end of the source");
  await server.stop(true);
  await collected.ended;
  assert.equal(cancelled, 1);
});

test("a stream of another length than its Content-Length is reported, and its source is told", async (reports) => {
  let reason;
  const headers = { "content-length": "5" };
  const routes = {
    "/more": () => new Response(new ReadableStream({
      async pull(controller) {
        await sleep(20);
        controller.enqueue(Buffer.from("abc"));
      },
      cancel(why) { reason = why; },
    }), { headers }),
    "/fewer": () => new Response(new ReadableStream({
      async start(controller) {
        await sleep(20);
        controller.enqueue(Buffer.from("abc"));
        await sleep(20);
        controller.close();
      },
    }), { headers }),
  };
  await serving({ routes }, async (server) => {
    for (const amount of ["more", "fewer"]) {
      reports.length = 0;
      const { body } = await ask(server, `/${amount}?q=1`);
      assert.equal(body, "abc");
      await until(() => reports.length > 0, "a report");
      assert.deepEqual(reports, [[`sampan: GET /${amount} (stream): the body has ${amount} bytes than the 5 of its Content-Length`]]);
    }
    assert.equal(reason, "the body has more bytes than the 5 of its Content-Length");
  });
  reports.length = 0;
});

test("a server that ends at once reports no streams", async (reports) => {
  let reason;
  const endless = () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(Buffer.from("begun")); },
    cancel(why) { reason = why; },
  }));
  const server = serve({ port: 0, hostname: "127.0.0.1", fetch: endless });
  const collected = collect(server, "/");
  await until(() => collected.text.includes("begun"), "a piece");
  await server.stop(true);
  await collected.ended;
  assert.equal(reason, "the server has ended");
  assert.deepEqual(reports, []);
});

test("stop leaves handlers their time, and then cuts streams", async (reports) => {
  let reason;
  const endless = () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(Buffer.from("begun")); },
    cancel(why) { reason = why; },
  }));
  // Longer than the ten seconds that there are beside the time of handlers.
  const patient = serve({ port: 0, hostname: "127.0.0.1", fetch: () => sleep(10_500).then(() => "done"), handlerTimeout: 20 });
  const hasty = serve({ port: 0, hostname: "127.0.0.1", fetch: endless, handlerTimeout: 0.1 });
  const [answered, cut] = [collect(patient, "/"), collect(hasty, "/endless")];
  await until(() => patient.pendingRequests === 1 && cut.text.includes("begun"), "both requests");
  await Promise.all([patient.stop(), hasty.stop()]);
  await Promise.all([answered.ended, cut.ended]);
  assert.ok(answered.text.endsWith("done"), answered.text);
  const why = "cut: the server stopped, and has waited 10 s for its end";
  assert.deepEqual(reports, [[`sampan: GET /endless (stream): ${why}`]]);
  assert.equal(reason, why);
  reports.length = 0;
});
