"use strict";
// What clients and the program see where a handler fails, or gives what is no answer.

const assert = require("node:assert/strict");
const { Readable } = require("node:stream");
const { inspect } = require("node:util");
const { test, serving, ask, sleep } = require("./harness.cjs");

const told = (reports) => reports.map((args) => args.map((part) => (typeof part === "string" ? part : inspect(part))).join(" ")).join("\n");

test("bodies are sent as what they are", () => {
  async function* pieces() {
    yield "a";
    await sleep(5);
    yield "b";
  }
  const routes = {
    "/stream": () => new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("xyz")); c.close(); } }),
    "/blob": () => new Blob(["blob"], { type: "text/x" }),
    "/buffer": () => new TextEncoder().encode("buffer").buffer,
    "/words": () => new Uint16Array([0x4241]),
    "/view": () => new DataView(new TextEncoder().encode("view").buffer),
    "/form": () => new URLSearchParams({ a: "b c" }),
    "/pieces": () => pieces(),
    "/node": () => Readable.from(["no", "de"]),
    "/number": () => 5,
    "/true": () => true,
    "/date": () => new Date(0),
    "/nested": () => [{}, { a: {}, b: new Date(0), "0": 1 }],
    "/class": () => new (class { constructor() { this.a = 1; } })(),
  };
  return serving({ routes }, async (server) => {
    const expect = async (target, body, type) => {
      const answer = await ask(server, target);
      assert.deepEqual([answer.status, answer.body], [200, body], target);
      if (type) assert.match(answer.head, type, target);
    };
    await expect("/stream", "xyz");
    await expect("/blob", "blob", /content-type: text\/x/i);
    await expect("/buffer", "buffer", /octet-stream/);
    await expect("/words", "AB", /octet-stream/);
    await expect("/view", "view", /octet-stream/);
    await expect("/form", "a=b+c", /x-www-form-urlencoded/);
    assert.match((await ask(server, "/pieces")).body, /a[^]*b[^]*0\r\n\r\n$/);
    assert.match((await ask(server, "/node")).body, /no[^]*de/);
    await expect("/number", "5", /application\/json/);
    await expect("/true", "true", /application\/json/);
    await expect("/date", '"1970-01-01T00:00:00.000Z"', /application\/json/);
    await expect("/nested", '[{},{"0":1,"a":{},"b":"1970-01-01T00:00:00.000Z"}]');
    await expect("/class", '{"a":1}');
  });
});

test("what has no place in JSON is told, with what to write", (reports) => {
  const wrong = {
    "/map": [() => new Map([[1, 2]]), /GET \/map:.*a Map.*Object\.fromEntries/],
    "/set": [() => new Set(), /a Set.*\[\.\.\.set\]/],
    "/regexp": [() => /x/, /a RegExp.*String\(regexp\)/],
    "/error": [() => Object.assign(new Error("x"), { code: 1 }), /an Error.*throw the error/],
    "/request": [(request) => request, /a Request/],
    "/generator": [() => [1].values(), /an Iterator.*\[\.\.\.values\]/],
    "/nan": [() => NaN, /NaN/],
    "/bigint": [() => 1n, /a bigint/],
    "/deep": [() => ({ a: [1, { b: new Map() }] }), /at a\.1\.b, a Map/],
    "/promise": [() => [Promise.resolve(1)], /at 0, a Promise.*await missing/],
    "/bytes": [() => ({ bytes: new Uint8Array(2) }), /at bytes, a Uint8Array.*alone/],
    "/response": [() => [new Response("x")], /at 0, a Response.*alone/],
    "/foreign": [() => new (class { get [Symbol.toStringTag]() { return "Response"; } })(), /a Response.*another class than the global/],
    "/pieces": [() => ({ pieces: (async function* () {})() }), /at pieces, an AsyncGenerator.*alone/],
    "/header": [() => new Response("x", { headers: { "x y": "a" } }), /GET \/header:[^]*header "x y"/],
    "/emoji": [() => new Response("x", { headers: { x: "\u{1f600}" } }), /header "x"/],
    "/none": [() => Response.error(), /Response\.error/],
    "/switching": [() => new Response(null, { status: 101 }), /101/],
    "/long": [() => new Response("x", { headers: { "x-long": "y".repeat(70_000) } }), undefined],
  };
  const routes = Object.fromEntries(Object.entries(wrong).map(([pattern, [handler]]) => [pattern, handler]));
  return serving({ routes }, async (server) => {
    for (const [target, [, part]] of Object.entries(wrong)) {
      reports.length = 0;
      const answer = await ask(server, `${target}?q=1`);
      assert.deepEqual([answer.status, answer.body], [500, '{"error":"Internal Server Error"}'], target);
      // Native code tells the others on standard error.
      if (part !== undefined) assert.match(told(reports), part, target);
    }
    reports.length = 0;
  });
});

test("the status of an error is that of its answer, also of what error gives", async (reports) => {
  const routes = {
    "/404": () => { throw Object.assign(new Error("no such user"), { status: 404 }); },
    "/503": async () => { throw Object.assign(new Error("secret"), { status: 503 }); },
    "/401": () => { throw { status: 401 }; },
    "/200": () => { throw Object.assign(new Error("secret"), { status: 200 }); },
    "/plain": () => { throw new Error("secret"); },
    "/json": { POST: async (request) => request.json() },
    "/form": { POST: async (request) => { await request.clone().text(); return request.json(); } },
  };
  const both = async (server, target, method = "GET", body = "") => {
    const answer = await ask(server, target, { method, body });
    return [answer.status, answer.body];
  };
  await serving({ routes }, async (server) => {
    assert.deepEqual(await both(server, "/404"), [404, '{"error":"no such user"}']);
    assert.equal((await ask(server, "/json", { method: "POST", body: "{" })).status, 400);
    assert.equal((await ask(server, "/form", { method: "POST", body: "{" })).status, 400);
    assert.deepEqual(await both(server, "/401"), [401, '{"error":"Unauthorized"}']);
    assert.equal(told(reports), "");
    assert.deepEqual(await both(server, "/503"), [503, '{"error":"Service Unavailable"}']);
    assert.deepEqual(await both(server, "/200"), [500, '{"error":"Internal Server Error"}']);
    assert.match(told(reports), /sampan: GET \/503: .*secret/);
  });
  reports.length = 0;
  const error = (thrown) => (thrown.status === 404 ? "mine" : thrown.message === "secret" ? { own: true } : undefined);
  await serving({ routes, error }, async (server) => {
    assert.deepEqual(await both(server, "/404"), [404, "mine"]);
    assert.deepEqual(await both(server, "/503"), [503, '{"own":true}']);
    assert.deepEqual(await both(server, "/plain"), [500, '{"own":true}']);
    assert.equal((await ask(server, "/json", { method: "POST", body: "{" })).status, 400);
  });
  await serving({ routes, error: () => new Response("kept", { status: 418 }) }, async (server) => {
    assert.deepEqual(await both(server, "/404"), [418, "kept"]);
  });
  assert.equal(told(reports), "");
});

test("an error whose own answer fails is answered once", async (reports) => {
  let calls = 0;
  const error = () => {
    // Else a server that asks without end would never fail this test.
    if (++calls > 3) return "asked again";
    return new Response(new ReadableStream({ pull() { throw new Error("again"); } }));
  };
  await serving({ fetch: () => { throw new Error("first"); }, error }, async (server) => {
    assert.equal((await ask(server, "/")).status, 500);
    assert.equal(calls, 1);
  });
  assert.match(told(reports), /GET \/: .*again/);
});

test("a handler whose time is up is told, and so is its signal", async (reports) => {
  let reason;
  const routes = {
    "/slow": (request) => new Promise(() => request.signal.addEventListener("abort", () => { reason = request.signal.reason; })),
    "/silent/:id": () => new Promise(() => {}),
  };
  await serving({ routes, handlerTimeout: 0.2 }, async (server) => {
    assert.equal((await ask(server, "/slow?x=1")).status, 504);
    assert.equal((await ask(server, "/silent/7")).status, 504);
    await sleep(50);
    assert.match(told(reports), /sampan: GET \/slow: no answer after 0\.2 s: given up \(handlerTimeout\)\nsampan: GET \/silent\/7: /);
    assert.equal(reason?.name, "TimeoutError");
  });
});

test("our classes can be shown", (reports) => {
  const routes = {
    "/:id": (request, server) => {
      const response = new Response("x", { status: 201, headers: { "x-b": "2" } });
      return [request, request.headers, server, response].map((value) => inspect(value)).join("\n");
    },
  };
  return serving({ routes }, async (server) => {
    const { status, body } = await ask(server, "/7", { headers: "X-A: 1\r\n" });
    assert.equal(status, 200, told(reports));
    for (const part of [/^Request \{[^]*method: ['"]GET['"]/, /['"]x-a['"]: ['"]1['"]/, /id: ['"]7['"]/, /Headers \{/, /Server \{[^]*url: /, /Response \{[^]*status: 201/]) {
      assert.match(body, part);
    }
    let kept;
    server.reload({ fetch: (request) => { kept = request; return "x"; } });
    await ask(server, "/kept/x");
    await ask(server, "/kept/x");
    assert.match(inspect(kept), /^Request \{/);
  });
});

test("redirections may be relative", () => {
  const routes = {
    "/always": Response.redirect("/x"),
    "/other": () => Response.redirect("../y?a=\u00fc", 308),
    "/object": () => Response.redirect("/z", { status: 303, headers: { "x-a": "1" } }),
    "/split": () => Response.redirect("/a\r\nx-b: 2"),
    "/wrong": () => { try { return Response.redirect("/x", 200); } catch (error) { return error.name; } },
  };
  return serving({ routes }, async (server) => {
    const found = async (target) => {
      const { status, head } = await ask(server, target);
      return `${status} ${/location: (.*)/i.exec(head)?.[1].trim()}`;
    };
    assert.equal(await found("/always"), "302 /x");
    assert.equal(await found("/other"), "308 ../y?a=%C3%BC");
    assert.equal(await found("/object"), "303 /z");
    assert.equal(await found("/split"), "302 /a%0D%0Ax-b:%202");
    assert.equal((await ask(server, "/wrong")).body, "RangeError");
  });
});

test("text has its type also where a framework copies its headers", () => {
  const copied = (body) => {
    const first = new Response(body);
    const second = new Response(first.body, first);
    second.headers.set("x-a", "1");
    return second;
  };
  return serving({ routes: { "/text": () => copied("text"), "/json": () => copied(JSON.stringify(1)) } }, async (server) => {
    assert.match((await ask(server, "/text")).head, /content-type: text\/plain;charset=utf-8/i);
    assert.match((await ask(server, "/json")).head, /content-type: text\/plain;charset=utf-8/i);
  });
});
