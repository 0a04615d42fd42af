// Request, Response and what they share.
const symbol = (name) => Symbol.for(`sampan.${name}`);
const streamOf = (...chunks) => new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(chunk);
    controller.close();
  },
});

test("each kind of body and its type", async () => {
  const form = new FormData();
  form.append("a", "b");
  const table = [
    ["text ü", "text/plain;charset=UTF-8", "text ü"],
    [new URLSearchParams({ a: "1 2" }), "application/x-www-form-urlencoded;charset=UTF-8", "a=1+2"],
    [new Blob(["blob"], { type: "a/b" }), "a/b", "blob"],
    [new Blob(["blob"]), null, "blob"],
    [bytes(104, 105), null, "hi"],
    [bytes(104, 105).buffer, null, "hi"],
    [new DataView(bytes(104, 105, 106).buffer, 1), null, "ij"],
    [streamOf(bytes(104), bytes(105)), null, "hi"],
    [(async function* () { yield "h"; yield bytes(); yield bytes(105).buffer; yield "\ud800"; })(), null, "hi\uFFFD"],
    [42, "text/plain;charset=UTF-8", "42"],
    [{}, "text/plain;charset=UTF-8", "[object Object]"],
    [null, null, ""],
  ];
  for (const [body, type, text] of table) {
    const response = new Response(body);
    equal(response.headers.get("content-type"), type, String(text));
    equal(await response.text(), text);
  }
  const response = new Response(form);
  ok(response.headers.get("content-type").startsWith("multipart/form-data; boundary="));
  equal(new Response("x", { headers: { "Content-Type": "own/type" } }).headers.get("content-type"), "own/type");
});
test("an async iterator as a body is left when it is not needed, or gives what is no text and no bytes", async () => {
  let left = 0;
  async function* pieces(piece) {
    try {
      for (;;) yield piece;
    } finally {
      left += 1;
    }
  }
  const { body } = new Response(pieces("x"));
  const reader = body.getReader();
  equal([...(await reader.read()).value], [0x78]);
  await reader.cancel();
  equal(left, 1);
  await rejects(TypeError, new Response(pieces(1)).text());
  equal(left, 2);
  await rejects(RangeError, new Response((async function* () { throw new RangeError("own"); })()).text());
});
test("body mixins", async () => {
  equal(await new Response('{"a":[1,null]}').json(), { a: [1, null] });
  equal([...(await new Response("ü").bytes())], [0xc3, 0xbc]);
  const buffer = await new Response("abc").arrayBuffer();
  ok(buffer instanceof ArrayBuffer && buffer.byteLength === 3);
  const blob = await new Response("abc", { headers: { "content-type": "Text/X" } }).blob();
  equal([blob.size, blob.type, await blob.text()], [3, "text/x", "abc"]);
  equal(await new Response(bytes(0xef, 0xbb, 0xbf, 0x61)).text(), "a");
  equal(await new Response("\uFEFFa").text(), "a");
  equal(await new Response(bytes(0xff)).text(), "\uFFFD");
  await rejects(SyntaxError, new Response("{").json());
  await rejects(SyntaxError, new Response(null).json());
});
test("a body is read once", async () => {
  for (const method of ["text", "json", "arrayBuffer", "bytes", "blob"]) {
    const response = new Response("1");
    equal(response.bodyUsed, false);
    await response[method]();
    equal(response.bodyUsed, true);
    await rejects(TypeError, response.text(), method);
    throws(TypeError, () => response.clone());
    ok(response.body.locked === false);
  }
  const empty = new Response(null);
  equal([await empty.text(), await empty.text(), empty.bodyUsed, empty.body], ["", "", false, null]);
});
test("a stream body counts as used once it is read or locked", async () => {
  const response = new Response(streamOf(bytes(1), bytes(2)));
  const reader = response.body.getReader();
  equal(response.bodyUsed, false);
  await rejects(TypeError, response.text());
  await reader.read();
  equal(response.bodyUsed, true);
  reader.releaseLock();
  await rejects(TypeError, response.text());
  throws(TypeError, () => new Response(response.body));
});
test("a body stream must give bytes", async () => {
  let cancelled;
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue("text"),
    cancel: (reason) => void (cancelled = reason),
  });
  await rejects(TypeError, new Response(stream).text());
  ok(cancelled instanceof TypeError);
  const failing = new ReadableStream({ start: (controller) => controller.error(new RangeError("inner")) });
  await rejects(RangeError, new Response(failing).text());
});
test("body of a string is a stream of its bytes", async () => {
  const response = new Response("hé");
  const { body } = response;
  ok(body instanceof ReadableStream && body === response.body);
  equal(body[symbol("source")], "hé");
  const chunks = [];
  for await (const chunk of body) chunks.push(...chunk);
  equal(chunks, [0x68, 0xc3, 0xa9]);
  equal([response.bodyUsed, body[symbol("source")]], [true, undefined]);
});
test("clone leaves both readable", async () => {
  const make = [() => "text", () => bytes(1, 2, 3), () => streamOf(bytes(1, 2), bytes(3)), () => new Blob(["x"]), () => null];
  for (const body of make) {
    const response = new Response(body(), { status: 201, statusText: "Made", headers: { a: "b" } });
    const twin = response.clone();
    equal([twin.status, twin.statusText, twin.headers.get("a")], [201, "Made", "b"]);
    twin.headers.set("a", "c");
    equal(response.headers.get("a"), "b");
    const [one, two] = [await response.bytes(), await twin.bytes()];
    equal([...one], [...two]);
    if (one.length > 0) {
      one[0] = 99;
      ok(two[0] !== 99, "the clones share memory");
    }
  }
  const streamed = new Response(streamOf(bytes(1)));
  const other = streamed.clone();
  (await streamed.body.getReader().read()).value[0] = 99;
  equal([...(await other.bytes())], [1], "the chunks of a clone are copies");
  const touched = new Response("again");
  touched.body;
  equal([await touched.clone().text(), await touched.text()], ["again", "again"]);
});
test("bytes given to a body are copied", async () => {
  const given = bytes(1, 2);
  const response = new Response(given);
  given[0] = 9;
  equal([...(await response.bytes())], [1, 2]);
});
test("a response made from the body of another keeps its content at hand", async () => {
  const first = new Response("content", { headers: { a: "b" } });
  const second = new Response(first.body, first);
  equal(second.headers.get("a"), "b");
  equal(second[symbol("body")][symbol("source")], "content");
  equal(await second.text(), "content");
  equal(first.bodyUsed, true);
});
test("Response status and statics", async () => {
  const plain = new Response();
  equal([plain.status, plain.statusText, plain.ok, plain.type, plain.url, plain.redirected], [200, "", true, "default", "", false]);
  equal(new Response(null, { status: 404 }).ok, false);
  for (const status of [0, 100, 101, 199, 600, NaN, "x"]) throws(RangeError, () => new Response(null, { status }), `${status}`);
  for (const status of [204, 205, 304]) throws(TypeError, () => new Response("", { status }), `${status}`);
  throws(TypeError, () => new Response(null, { statusText: "a\r\nb" }));
  throws(TypeError, () => Response());
  const json = Response.json({ a: [1] }, { status: 201, headers: { x: "y" } });
  equal([json.status, json.headers.get("content-type"), json.headers.get("x"), json[symbol("body")]],
    [201, "application/json", "y", '{"a":[1]}']);
  throws(TypeError, () => Response.json(undefined));
  throws(TypeError, () => Response.json(Symbol()));
  const redirect = Response.redirect("http://h/ä", 301);
  equal([redirect.status, redirect.headers.get("location")], [301, "http://h/%C3%A4"]);
  equal(Response.redirect("/p ä?q").headers.get("location"), "/p%20%C3%A4?q");
  throws(TypeError, () => Response.redirect("http://"));
  throws(TypeError, () => Response.redirect("//evil/"));
  throws(RangeError, () => Response.redirect("http://h/", 200));
  const error = Response.error();
  equal([error.type, error.status], ["error", 0]);
});
test("Response keeps the contract's properties", () => {
  const response = new Response("é", { status: 418, headers: { A: "b" } });
  equal(response[symbol("status")], 418);
  equal(response[symbol("headers")][symbol("list")], ["a", "b", "content-type", "text/plain;charset=UTF-8"]);
  equal(response[symbol("body")], "é");
  equal(response[symbol("used")], false);
  ok(Object.hasOwn(response, symbol("status")) && Object.hasOwn(response, symbol("body")));
  equal(new Response("\uD800")[symbol("body")], "\uFFFD");
});
test("Request basics", async () => {
  const request = new Request("http://h/p?q#f", { method: "post", headers: { A: "1" }, body: "b" });
  equal([request.method, request.url, request.headers.get("a"), request.headers.get("content-type"), await request.text()],
    ["POST", "http://h/p?q#f", "1", "text/plain;charset=UTF-8", "b"]);
  const plain = new Request(new URL("http://h"));
  equal([plain.method, plain.url, plain.body, plain.redirect, plain.cache, plain.destination], ["GET", "http://h/", null, "follow", "default", ""]);
  equal(new Request("http://h", { redirect: "manual", keepalive: 1 }).redirect, "manual");
  equal(new Request("http://h", { method: "patch" }).method, "patch");
  throws(TypeError, () => new Request("/relative"));
  throws(TypeError, () => new Request("http://u:p@h/"));
  throws(TypeError, () => new Request("http://h", { method: "a b" }));
  throws(TypeError, () => new Request("http://h", { method: "TRACE" }));
  throws(TypeError, () => new Request("http://h", { body: "x" }));
  throws(TypeError, () => new Request("http://h", { method: "HEAD", body: "x" }));
  throws(TypeError, () => new Request());
});
test("Request refuses options that the standard does not have", async () => {
  for (const init of [{ redirect: "foo" }, { mode: "foo" }, { mode: "navigate" }, { cache: "no" }, { credentials: "yes" },
    { referrerPolicy: "none" }]) {
    throws(TypeError, () => new Request("http://h", init), JSON.stringify(init));
  }
  const options = { redirect: "error", mode: "no-cors", cache: "reload", credentials: "omit", referrerPolicy: "origin" };
  const request = new Request(new Request("http://h", options), { redirect: "follow" });
  equal([request.redirect, request.mode, request.cache, request.credentials, request.referrerPolicy],
    ["follow", "no-cors", "reload", "omit", "origin"]);
});
test("Request from a Request takes its body", async () => {
  const first = new Request("http://h/", { method: "POST", body: "content", headers: { a: "b" } });
  const second = new Request(first, { headers: { c: "d" } });
  equal([second.method, second.headers.get("a"), second.headers.get("c"), first.bodyUsed], ["POST", null, "d", true]);
  equal(await second.text(), "content");
  throws(TypeError, () => new Request(first));
  const third = new Request("http://h/", { method: "PUT", body: "x" });
  const twin = third.clone();
  equal([twin.method, await twin.text(), await third.text()], ["PUT", "x", "x"]);
});
test("Request signals", () => {
  const controller = new AbortController();
  const request = new Request("http://h", { signal: controller.signal });
  const derived = new Request(request);
  controller.abort("why");
  equal([request.signal.aborted, derived.signal.reason], [true, "why"]);
  ok(new Request("http://h").signal instanceof AbortSignal);
  throws(TypeError, () => new Request("http://h", { signal: {} }));
});
test("subclasses work", async () => {
  class Mine extends Response {
    constructor(text) {
      super(text, { status: 202 });
    }
    get shout() {
      return this.status + 1;
    }
  }
  const mine = new Mine("x");
  equal([mine.shout, mine instanceof Response, await mine.text()], [203, true, "x"]);
});

// A request as the engine makes it, by the contract.
function nativeRequest(content, later = false) {
  let taken = false;
  const proto = {
    __proto__: Request.prototype,
    get method() {
      return content === null ? "GET" : "POST";
    },
    get url() {
      return "http://native/path";
    },
    get headers() {
      return { __proto__: Headers.prototype, [symbol("list")]: ["content-type", "text/x"] };
    },
    get [symbol("used")]() {
      return taken;
    },
    get [symbol("body")]() {
      return content === null ? null : undefined;
    },
    [symbol("take")]() {
      if (taken) throw new TypeError("taken twice");
      taken = true;
      return later ? Promise.resolve(content) : content;
    },
  };
  return Object.create(proto);
}
test("a native request is a Request", async () => {
  for (const later of [false, true]) {
    const make = (content = "native") => nativeRequest(content, later);
    ok(make() instanceof Request);
    equal(await make().text(), "native");
    equal((await make().arrayBuffer()).byteLength, 6);
    const blob = await make().blob();
    equal([blob.size, blob.type], [6, "text/x"]);
    const used = make();
    await used.text();
    equal(used.bodyUsed, true);
    await rejects(TypeError, used.text());
    throws(TypeError, () => used.clone());
    const cloned = make(bytes(1, 2));
    const twin = cloned.clone();
    equal([twin.url, twin.method, cloned.bodyUsed], ["http://native/path", "POST", false]);
    equal([[...(await twin.bytes())], [...(await cloned.bytes())]], [[1, 2], [1, 2]]);
    const moved = make();
    const copy = new Request(moved, { headers: { a: "b" } });
    equal([await copy.text(), copy.url, moved.bodyUsed], ["native", "http://native/path", true]);
    const streamed = make();
    ok(streamed.body === streamed.body && streamed.bodyUsed === false);
    const chunks = [];
    for await (const chunk of streamed.body) chunks.push(chunk);
    equal(new TextDecoder().decode(chunks[0]), "native");
    equal(streamed.bodyUsed, true);
  }
  const empty = nativeRequest(null);
  equal([empty.body, await empty.text(), empty.bodyUsed], [null, "", false]);
  ok(empty.signal instanceof AbortSignal && empty.signal === empty.signal);
});
