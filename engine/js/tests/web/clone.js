// structuredClone.
test("primitives and wrappers", () => {
  for (const value of [undefined, null, true, 1, -0, NaN, "s", 10n]) ok(Object.is(structuredClone(value), value));
  for (const value of [new Boolean(false), new Number(3), new String("s"), Object(5n)]) {
    const copy = structuredClone(value);
    ok(copy !== value && copy.valueOf() === value.valueOf() && copy.constructor === value.constructor);
  }
});
test("plain objects and arrays", () => {
  const source = { a: [1, , { b: "c" }], [Symbol("skipped")]: 1 };
  Object.defineProperty(source, "hidden", { value: 1 });
  Object.defineProperty(source, "got", { enumerable: true, get: () => 7 });
  const copy = structuredClone(source);
  equal(copy, { a: [1, , { b: "c" }], got: 7 });
  equal([1 in copy.a, copy.a.length, Object.getOwnPropertySymbols(copy).length], [false, 3, 0]);
  class Thing { field = 1; }
  ok(Object.getPrototypeOf(structuredClone(new Thing())) === Object.prototype);
  const tagged = structuredClone(Object.assign([1], { extra: 2 }));
  equal([tagged.extra, Array.isArray(tagged)], [2, true]);
});
test("cycles and shared references", () => {
  const source = { list: [] };
  source.self = source;
  source.list.push(source.list, source);
  const copy = structuredClone(source);
  ok(copy !== source && copy.self === copy && copy.list[0] === copy.list && copy.list[1] === copy);
});
test("Map, Set, Date, RegExp", () => {
  const map = new Map([[{ k: 1 }, new Set([1, "a"])]]);
  map.set("self", map);
  const copy = structuredClone(map);
  const [[key, set]] = [...copy];
  equal([key, [...set]], [{ k: 1 }, [1, "a"]]);
  ok(copy.get("self") === copy);
  equal(structuredClone(new Date(5)).getTime(), 5);
  ok(Number.isNaN(structuredClone(new Date(NaN)).getTime()));
  const regexp = /a(b)/giu;
  regexp.lastIndex = 3;
  equal([structuredClone(regexp).source, structuredClone(regexp).flags, structuredClone(regexp).lastIndex], ["a(b)", "giu", 0]);
});
test("buffers and views keep what they share", () => {
  const buffer = bytes(1, 2, 3, 4).buffer;
  const [a, b, c] = structuredClone([buffer, new Uint8Array(buffer, 1, 2), new DataView(buffer, 2)]);
  ok(a !== buffer && b.buffer === a && c.buffer === a);
  equal([[...b], c.byteOffset, c.byteLength], [[2, 3], 2, 2]);
  b[0] = 9;
  equal(new Uint8Array(a)[1], 9);
  equal(new Uint8Array(buffer)[1], 2);
  for (const type of [Float32Array, BigInt64Array, Uint8ClampedArray, Int16Array]) {
    const copy = structuredClone(new type(2));
    ok(copy instanceof type && copy.length === 2);
  }
});
test("errors", () => {
  const error = new RangeError("m", { cause: { a: 1 } });
  error.extra = 1;
  const copy = structuredClone(error);
  equal([copy.name, copy.message, copy.cause, copy.extra, copy.stack === error.stack], ["RangeError", "m", { a: 1 }, undefined, true]);
  ok(copy instanceof RangeError);
  class Custom extends Error { name = "Custom"; }
  equal(structuredClone(new Custom("x")).constructor, Error);
  const dom = structuredClone(new DOMException("m", "AbortError"));
  equal([dom.name, dom.message, dom instanceof DOMException], ["AbortError", "m", true]);
});
test("what cannot be cloned", () => {
  for (const value of [() => {}, Symbol(), class {}, new WeakMap(), Promise.resolve(), new Headers(), new Response(),
    { a: () => {} }, [Symbol()], new Proxy({}, {}), [new Proxy([], {})]]) {
    const error = throws("DataCloneError", () => structuredClone(value));
    equal([error instanceof DOMException, error.code], [true, 25]);
  }
  throws(TypeError, () => structuredClone());
  throws(RangeError, () => structuredClone({ get a() { throw new RangeError("getter"); } }));
});
test("transfer moves a buffer", () => {
  const buffer = bytes(1, 2).buffer;
  const copy = structuredClone({ view: new Uint8Array(buffer) }, { transfer: [buffer] });
  equal([[...copy.view], buffer.byteLength, buffer.detached], [[1, 2], 0, true]);
  throws("DataCloneError", () => structuredClone(1, { transfer: [buffer] }));
  throws("DataCloneError", () => structuredClone(1, { transfer: [{}] }));
  const kept = bytes(1).buffer;
  throws("DataCloneError", () => structuredClone([kept, () => {}], { transfer: [kept] }));
  equal(kept.byteLength, 1, "a failed clone moves nothing");
});
test("Blob and File", async () => {
  const file = structuredClone(new File(["abc"], "n", { type: "a/b", lastModified: 3 }));
  equal([file.name, file.type, file.lastModified, await file.text()], ["n", "a/b", 3, "abc"]);
  const blob = structuredClone(new Blob(["x"], { type: "c/d" }));
  equal([blob.type, await blob.text(), blob instanceof File], ["c/d", "x", false]);
});
