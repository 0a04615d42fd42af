"use strict";
// What handlers may give, and what they see of a request.

const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const net = require("node:net");
const { PlatformResponse } = require("../../package/serve/response.cjs");
const { test, serving, ask, exchange, sleep, isBun, Request: OurRequest } = require("./harness.cjs");

test("every kind of answer", () =>
  serving(
    {
      routes: {
        "/static": new Response("always", { status: 202, headers: { "x-fixed": "yes" } }),
        "/json": () => Response.json({ a: 1 }),
        "/text": () => "ü",
        "/object": () => ({ b: [1, 2] }),
        "/nothing": () => undefined,
        "/bytes": () => new Uint8Array([104, 105]),
        "/typed": () => new Response("<b>", { headers: { "Content-Type": "text/html; charset=utf-8" } }),
        "/cookies": () => new Response("c", { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] }),
        "/blob": () => new Response(new Blob(["from a blob"])),
        "/form": () => new Response(new URLSearchParams({ q: "a b" })),
        "/late": async () => { await sleep(5); return Response.json("late"); },
        "/redirect": () => Response.redirect("http://elsewhere/", 307),
        "/large": () => "x".repeat(3_000_000),
      },
      fetch: (request) => new Response(`fetch ${new URL(request.url).pathname}`),
    },
    async (server) => {
      const expect = async (target, status, body, part) => {
        const answer = await ask(server, target);
        assert.equal(answer.status, status, target);
        assert.equal(answer.body, body, target);
        if (part) assert.match(answer.head, part, target);
      };
      await expect("/static", 202, "always", /x-fixed: yes/);
      await expect("/json", 200, '{"a":1}', /application\/json/i);
      await expect("/text", 200, "ü", /text\/plain/i);
      await expect("/object", 200, '{"b":[1,2]}', /application\/json/i);
      await expect("/nothing", 204, "");
      await expect("/bytes", 200, "hi", /application\/octet-stream/i);
      await expect("/typed", 200, "<b>", /content-type: text\/html/i);
      await expect("/cookies", 200, "c", /set-cookie: a=1\r\nset-cookie: b=2/i);
      await expect("/blob", 200, "from a blob");
      await expect("/form", 200, "q=a+b", /application\/x-www-form-urlencoded/i);
      await expect("/late", 200, '"late"');
      await expect("/redirect", 307, "", /location: http:\/\/elsewhere\//i);
      await expect("/other/path", 200, "fetch /other/path");
      const large = await ask(server, "/large");
      assert.equal(large.body.length, 3_000_000);
      const head = await ask(server, "/json", { method: "HEAD" });
      assert.equal(head.body, "");
      assert.match(head.head, /content-length: 7/i);
    },
  ));

test("streams come piece by piece, and end with their client", async () => {
  let cancelled = 0;
  const endless = () =>
    new Response(new ReadableStream({
      async pull(controller) {
        await sleep(1);
        controller.enqueue(new Uint8Array(64 * 1024));
      },
      cancel() {
        cancelled++;
      },
    }));
  const counted = () =>
    new Response(new ReadableStream({
      async start(controller) {
        for (let n = 0; n < 5; n++) {
          controller.enqueue(new TextEncoder().encode(`part ${n};`));
          await sleep(10);
        }
        controller.close();
      },
    }), { headers: { "content-type": "text/event-stream" } });
  const broken = () =>
    new Response(new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("begun"));
        await sleep(10);
        controller.error(new Error("broken"));
      },
    }));
  await serving({ routes: { "/endless": endless, "/counted": counted, "/broken": broken } }, async (server) => {
    const answer = await ask(server, "/counted");
    assert.match(answer.head, /transfer-encoding: chunked/i);
    assert.match(answer.head, /text\/event-stream/i);
    assert.ok(answer.body.includes("part 0;") && answer.body.endsWith("0\r\n\r\n"), answer.body);
    const cut = await ask(server, "/broken");
    assert.ok(cut.body.includes("begun") && !cut.body.endsWith("0\r\n\r\n"), cut.body);
    await exchange(server, "GET /endless HTTP/1.1\r\nHost: h\r\n\r\n", "\0\0\0\0");
    for (let n = 0; n < 200 && cancelled === 0; n++) await sleep(10);
    assert.equal(cancelled, 1);
  });
});

test("a stream that fails while its client is slow ends alone", async (reports) => {
  const broken = () =>
    new Response(new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from("begun"));
        // More than the sockets take while nothing is read.
        for (let n = 0; n < 3; n++) controller.enqueue(new Uint8Array(16 * 1024 * 1024));
        await sleep(300);
        controller.error(new Error("broken"));
      },
    }));
  await serving({ routes: { "/broken": broken, "/fine": () => "fine" } }, async (server) => {
    const socket = net.connect(server.port, "127.0.0.1");
    socket.pause();
    socket.write("GET /broken HTTP/1.1\r\nHost: h\r\n\r\n");
    await sleep(800);
    assert.equal((await ask(server, "/fine")).body, "fine");
    const ended = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => {});
    socket.resume();
    await ended;
    assert.match(String(reports[0]), /GET \/broken \(stream\)/);
    reports.length = 0;
  });
});

test("a request is a Request for all purposes", () =>
  serving(
    {
      routes: {
        "/users/:id/:name": (request) => Response.json(request.params),
        "/@:user/{:w}x{:h}/:name.:ext": (request) => Response.json(request.params),
        "/items/:id:cancel/{:n}:x.:y": (request) => Response.json(request.params),
        "/json": { POST: async (request) => Response.json(await request.json()) },
        "/text": { POST: async (request) => new Response(await request.text()) },
        "/twice": { POST: async (request) => { await request.text(); return request.text(); } },
        "/bad": { POST: (request) => request.json().then(() => "no", (error) => error.name) },
        "/bytes": { POST: async (request) => `${(await request.bytes()).length} ${(await request.clone().catch?.(() => 0)) ?? ""}` },
        "/buffer": { POST: async (request) => `${(await request.arrayBuffer()).byteLength}` },
        "/form": { POST: async (request) => Response.json(Object.fromEntries(await request.formData())) },
        "/waits": { POST: async (request) => {
          await sleep(20);
          return `${request.method} ${new URL(request.url).pathname} ${request.headers.get("x-a")} ${await request.text()}`;
        } },
        "/wrapped": { POST: async (request) => {
          const inner = new Request(request, { headers: { "x-b": "2" } });
          return `${request instanceof Request} ${inner.method} ${inner.headers.get("x-b")} ${await inner.text()}`;
        } },
        "/headers": (request) => Response.json({
          all: Object.fromEntries(request.headers), has: request.headers.has("X-A"), none: request.headers.get("none"),
          isHeaders: request.headers instanceof Headers,
        }),
      },
      fetch: () => "other",
    },
    async (server) => {
      const body = async (target, text, headers = "") => (await ask(server, target, { method: "POST", body: text, headers })).body;
      assert.equal((await ask(server, "/users/4%202/%C3%BC")).body, '{"id":"4 2","name":"ü"}');
      assert.equal((await ask(server, "/@m%20e/4x8/a.tar.gz")).body, '{"user":"m e","w":"4","h":"8","name":"a.tar","ext":"gz"}');
      assert.equal((await ask(server, "/@/4x8/a.gz")).body, "other");
      assert.equal((await ask(server, "/items/7:cancel/3:x.z")).body, '{"id":"7","n":"3","y":"z"}');
      assert.equal(await body("/json", '{"a":"ü","b":[1]}'), '{"a":"ü","b":[1]}');
      assert.equal(await body("/text", "grüße"), "grüße");
      assert.equal((await ask(server, "/twice", { method: "POST", body: "a" })).status, 500);
      assert.equal(await body("/bad", "{"), "SyntaxError");
      assert.equal(await body("/buffer", "12345"), "5");
      assert.equal(await body("/form", "a=1&b=x+y", "Content-Type: application/x-www-form-urlencoded\r\n"), '{"a":"1","b":"x y"}');
      assert.equal(await body("/waits", "later", "X-A: 7\r\n"), "POST /waits 7 later");
      assert.equal(await body("/wrapped", "in"), "true POST 2 in");
      const large = "y".repeat(700_000);
      assert.equal(await body("/text", large), large);
      const { all, ...rest } = JSON.parse((await ask(server, "/headers", { headers: "X-A: 1\r\nX-A: 2\r\n" })).body);
      assert.equal(all["x-a"], "1, 2");
      assert.deepEqual(rest, { has: true, none: null, isHeaders: true });
    },
  ));

test("programs that import the package make our Response, whatever is loaded first", () => {
  const folder = require("node:path").join(__dirname, "../../package/serve");
  const orders = ["require('./response.cjs'); globals.install();", "globals.install(); require('./response.cjs'); require('./request.cjs');", "globals.install(); Response;"];
  for (const order of orders) {
    const program = `const globals = require('./globals.cjs'); ${order}
      const ours = [require('./response.cjs').Response, require('./request.cjs').Request];
      process.exit(ours[0] === Response && ours[1] === Request && new Response('a') instanceof Response ? 0 : 1);`;
    const { status } = spawnSync(process.execPath, ["-e", program], { cwd: folder });
    assert.equal(status, 0, order);
  }
});

test("an import changes nothing of Bun, and its own Responses are answers too", async () => {
  if (!isBun) return;
  const program = `require("./index.cjs");
    const server = Bun.serve({ port: 0, fetch: () => new Response("theirs"), routes: { "/static": new Response("static") } });
    const texts = await Promise.all(["", "static"].map(async (path) => (await fetch(server.url + path)).text()));
    await Bun.write("/dev/null", new Response("x"));
    process.exit(texts.join() === "theirs,static" ? 0 : 1);`;
  const { status } = spawnSync(process.execPath, ["-e", program], { cwd: require("node:path").join(__dirname, "../../package") });
  assert.equal(status, 0);
  // Here ours stands in its place, and Bun's own class still works where it was kept.
  const theirs = Bun.serve({ port: 0, fetch: () => new PlatformResponse("kept") });
  assert.equal(await (await fetch(theirs.url)).text(), "kept");
  await theirs.stop(true);
  const large = "x".repeat(100_000);
  const stream = () => new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("piece")); c.close(); } });
  const routes = {
    "/text": new PlatformResponse("text", { status: 201 }),
    "/json": PlatformResponse.json({ a: 1 }),
    "/large": new PlatformResponse(large),
    "/ours": new Response(new TextEncoder().encode("bytes")),
    "/nothing": new PlatformResponse(null, { status: 204 }),
    "/stream": new PlatformResponse(stream()),
    "/late": () => new PlatformResponse("late"),
  };
  await serving({ routes }, async (server) => {
    for (let round = 0; round < 2; round++) {
      const text = await ask(server, "/text");
      assert.deepEqual([text.status, text.body], [201, "text"]);
      assert.match(text.head, /content-type: text\/plain;charset=utf-8/i);
      const json = await ask(server, "/json");
      assert.equal(json.body, '{"a":1}');
      assert.match(json.head, /content-type: application\/json/i);
      assert.equal((await ask(server, "/large")).body, large);
      const bytes = await ask(server, "/ours");
      assert.equal(bytes.body, "bytes");
      assert.doesNotMatch(bytes.head, /content-type/i);
      assert.equal((await ask(server, "/nothing")).status, 204);
      assert.equal((await ask(server, "/stream")).body, "piece");
      assert.equal((await ask(server, "/late")).body, "late");
    }
  });
});

test("methods of one path", () =>
  serving({ routes: { "/m": { GET: () => "got", PUT: () => "put" } } }, async (server) => {
    assert.equal((await ask(server, "/m")).body, "got");
    assert.equal((await ask(server, "/m", { method: "PUT" })).body, "put");
    const refused = await ask(server, "/m", { method: "DELETE" });
    assert.equal(refused.status, 405);
    assert.match(refused.head, /allow: GET, HEAD, PUT, OPTIONS/i);
    assert.equal((await ask(server, "/nowhere")).status, 404);
  }));

test("pipelined requests are answered in their order", () =>
  serving({ routes: { "/:n": async (request) => { const n = Number(request.params.n); await sleep(n % 2 ? 15 : 0); return `<${n}>`; } } }, async (server) => {
    let bytes = "";
    for (let n = 0; n < 20; n++) bytes += `GET /${n} HTTP/1.1\r\nHost: h\r\n${n === 19 ? "Connection: close\r\n" : ""}\r\n`;
    const text = await exchange(server, bytes);
    assert.deepEqual(text.match(/<\d+>/g), Array.from({ length: 20 }, (_, n) => `<${n}>`));
  }));

test("the address of a client", () =>
  serving({ fetch: (request, server) => Response.json(server.requestIP(request)) }, async (server) => {
    const { address, family } = JSON.parse((await ask(server, "/")).body);
    assert.deepEqual({ address, family }, { address: "127.0.0.1", family: "IPv4" });
  }));

test("content types go out as they were given, also without a body", () =>
  serving({ fetch: (request) => new Response(request.url.endsWith("/empty") ? null : "x", { headers: { "content-type": request.headers.get("x-type") } }) },
    async (server) => {
      const types = ["text/html; charset=utf-8", "text/html;charset=utf-8", "text/plain; charset=utf-8", "text/plain;charset=utf-8", "application/json",
        "application/octet-stream", "image/png"];
      for (const path of ["/full", "/empty"]) {
        for (const type of types) {
          const { head } = await ask(server, path, { headers: `x-type: ${type}\r\n` });
          assert.equal(/content-type: (.*)\r/i.exec(head)?.[1], type, path);
        }
      }
    }));

test("the head of a stream does not wait for its first piece", async () => {
  let begin;
  const routes = { "/": () => new Response(new ReadableStream({ start(controller) { begin = controller; } }), { status: 201 }) };
  await serving({ routes }, async (server) => {
    const socket = require("node:net").connect(server.port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    let text = "";
    socket.setEncoding("utf8");
    for await (const piece of socket) {
      text += piece;
      if (begin && text.includes("\r\n\r\n")) {
        begin.enqueue(new TextEncoder().encode("piece"));
        begin.close();
        begin = undefined;
      }
    }
    assert.match(text, /^HTTP\/1\.1 201 /);
    assert.match(text, /piece/);
  });
});

test("what Response cannot send is refused where it is made", () => {
  assert.throws(() => new Response("", { statusText: "a\r\nb" }), TypeError);
  assert.throws(() => new Response("", { statusText: "ü€" }), TypeError);
  assert.equal(new Response("", { statusText: "Fine, thanks" }).statusText, "Fine, thanks");
  assert.throws(() => Response.redirect(), TypeError);
  assert.throws(() => Response.redirect("http://["), TypeError);
  assert.throws(() => Response.redirect("/x", 200), RangeError);
  assert.equal(Response.redirect("/x", 303).status, 303);
});

test("a Response has the header fields that it was made with, whatever becomes of their object", async () => {
  const shared = new Headers();
  const list = [["x-id", ""]];
  const routes = {
    "/shared/:id": async ({ params: { id } }) => {
      shared.set("set-cookie", `id=${id}`);
      const response = new Response(id, { headers: shared });
      await sleep(5);
      return response;
    },
    "/list/:id": async ({ params: { id } }) => {
      list[0][1] = id;
      const response = Response.json(id, { headers: list });
      await sleep(5);
      return response;
    },
  };
  await serving({ routes }, async (server) => {
    const ids = ["1", "2", "3", "4", "5", "6"];
    const heads = async (target) => (await Promise.all(ids.map((id) => ask(server, `${target}/${id}`)))).map(({ head }) => head);
    assert.deepEqual((await heads("/shared")).map((head) => /set-cookie: id=(.*)/i.exec(head)?.[1].trim()), ids);
    assert.deepEqual((await heads("/list")).map((head) => /x-id: (.*)/i.exec(head)?.[1].trim()), ids);
  });
  const given = { headers: { "x-a": "1" }, statusText: "first" };
  const response = new Response("", given);
  given.headers["x-a"] = "2";
  given.statusText = "second";
  assert.deepEqual([response.headers.get("x-a"), response.statusText], ["1", "first"]);
});

test("header fields of a Response are what Headers makes of them", () => {
  const headers = { "x-a": " \t1\r\n", "Content-Type": "text/html", "content-type": "text/plain" };
  for (const wrong of [null, "x: y", 5, [["a"]], [["a", "b", "c"]], ["ab"], { a: "b\nc" }, { "a b": "c" }, { a: "\u20ac" }]) {
    assert.throws(() => new Response("", { headers: wrong }), TypeError, JSON.stringify(wrong));
  }
  const made = new Response("x", { headers });
  assert.deepEqual([made.headers.get("x-a"), made.headers.get("content-type")], ["1", "text/html, text/plain"]);
  return serving({ fetch: () => new Response("x", { headers }) }, async (server) => {
    const { head } = await ask(server, "/");
    assert.ok(/x-a: 1\r\n/i.test(head), head);
    assert.deepEqual(head.match(/content-type: .*/gi)?.map((field) => field.trim().slice(14)), ["text/html, text/plain"]);
  });
});

test("instances of a subclass are not those of its base", () => {
  class Own extends Response {}
  class OwnRequest extends OurRequest {}
  assert.deepEqual([new Own("") instanceof Own, new Response("") instanceof Own, new Own("") instanceof Response], [true, false, true]);
  const requests = [new OwnRequest("http://h/"), new OurRequest("http://h/")];
  assert.deepEqual(requests.map((request) => [request instanceof OwnRequest, request instanceof OurRequest]), [[true, true], [false, true]]);
});

test("the reason of a signal is an Error", async () => {
  let leave;
  let wasAborted;
  let tell;
  const told = new Promise((resolve) => { tell = resolve; });
  const fetch = ({ signal }) => new Promise((resolve) => {
    wasAborted = signal.aborted;
    signal.addEventListener("abort", () => {
      tell(signal.reason);
      resolve("late");
    });
    leave();
  });
  await serving({ fetch }, async (server) => {
    const socket = net.connect(server.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    leave = () => socket.destroy();
    const reason = await Promise.race([told, sleep(10_000)]);
    assert.equal(wasAborted, false);
    assert.ok(reason instanceof Error, String(reason));
    assert.match(reason.message, /the client left/);
  });
});
