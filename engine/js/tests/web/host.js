// What native code calls: the object that the engine takes after the installation.
const web = globalThis[Symbol.for("sampan.web")];
const chunks = (...values) => new ReadableStream({
  start(controller) {
    for (const value of values) controller.enqueue(value);
    controller.close();
  },
});
test("the object is frozen and has the prototypes", () => {
  ok(Object.isFrozen(web));
  ok(web.requestPrototype === Request.prototype && web.responsePrototype === Response.prototype);
  ok(web.headersPrototype === Headers.prototype);
});
// One chunk after another, as the engine asks for them.
const reading = (stream) => {
  const next = web.open(stream);
  return async () => next();
};
test("next gives chunk after chunk, then null", async () => {
  const next = reading(chunks(bytes(1, 2), bytes(3)));
  equal([...(await next())], [1, 2]);
  equal([...(await next())], [3]);
  equal(await next(), null);
  equal(await reading(new Response("").body)(), null);
});
test("what cannot be sent is refused", async () => {
  throws(TypeError, () => web.open({}));
  for (const value of ["text", undefined, null, Promise.resolve(bytes(1)), {}]) await rejects(TypeError, reading(chunks(value))());
  const locked = chunks(bytes(1));
  locked.getReader();
  throws(TypeError, () => web.open(locked));
  const begun = chunks(bytes(1), bytes(2));
  const reader = begun.getReader();
  await reader.read();
  reader.releaseLock();
  throws(TypeError, () => web.open(begun), "the rest of a stream");
  await rejects(RangeError, reading(new ReadableStream({ pull: () => Promise.reject(new RangeError("source")) }))());
});
test("cancel tells the source, while it is read and before", async () => {
  const reasons = [];
  const endless = () => new ReadableStream({ pull: (c) => c.enqueue(bytes(1)), cancel: (reason) => void reasons.push(reason) });
  const stream = endless();
  const next = reading(stream);
  await next();
  web.cancel(stream, "gone");
  web.cancel(endless(), "never read");
  web.cancel({}, "no stream");
  await ticks();
  equal(reasons, ["gone", "never read"]);
  equal(await next(), null);
});
test("abort reaches the listeners of a request's signal", () => {
  const request = new Request("http://h/");
  ok(!Object.hasOwn(request, Symbol.for("sampan.signal")), "a signal is made when it is asked for");
  const seen = [];
  request.signal.addEventListener("abort", () => seen.push(request.signal.reason));
  web.abort(request[Symbol.for("sampan.signal")], "gone");
  equal(seen, ["gone"]);
});
test("call sites hand out no functions", () => {
  let found;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunction());
  try {
    new Headers({ get a() { found = new Error().stack; return "b"; } });
  } finally {
    Error.prepareStackTrace = undefined;
  }
  ok(found.length > 1 && found.every((one) => one === undefined), String(found));
});
