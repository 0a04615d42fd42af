// console and the text it makes of values.
const said = (body) => {
  const before = logged.length;
  body();
  return logged.slice(before);
};
test("levels", () => {
  const lines = said(() => {
    console.log("a");
    console.info("b");
    console.warn("c");
    console.error("d");
    console.debug("e");
    console.assert(true, "no");
    console.assert(false, "f", 1);
  });
  equal(lines, [["info", "a"], ["info", "b"], ["warn", "c"], ["error", "d"], ["debug", "e"], ["error", "Assertion failed: f 1"]]);
});
test("format specifiers", () => {
  const text = (...args) => said(() => console.log(...args))[0][1];
  equal(text("%s is %d%% of %i, %f %o %%d %x", "a", "5", 7.9, "1.5", { k: "v" }), "a is 5% of 7, 1.5 { k: \"v\" } %d %x");
  equal(text("%s"), "%s");
  equal(text("%cstyled", "color: red"), "styled");
  equal(text("a", "b", 1), "a b 1");
  equal(text("%d", 5n), "5n");
  equal(text(), "");
});
test("values", () => {
  const text = (value) => said(() => console.log(value))[0][1];
  equal(text({ a: [1, "x", null, undefined], b: { c: { d: { e: {} } } } }), '{ a: [ 1, "x", null, undefined ], b: { c: { d: { e: [Object] } } } }');
  equal(text(new Map([["k", new Set([1])]])), 'Map(1) { "k" => Set(1) { 1 } }');
  equal(text(bytes(1, 2)), "Uint8Array(2) [ 1, 2 ]");
  equal(text([1, , 2]), "[ 1, <empty>, 2 ]");
  equal(text([-0, 5n, Symbol("s"), () => {}, class A {}]), "[ -0, 5n, Symbol(s), [Function: (anonymous)], [class: A] ]");
  equal(text(new Date(0)), "1970-01-01T00:00:00.000Z");
  equal(text(new Headers({ a: "b" })), 'Headers { "a": "b" }');
  equal(text(new URL("http://h/p")), 'URL { href: "http://h/p" }');
  equal(text({ get a() { throw new Error("called"); } }), "{ a: [Getter] }");
  equal(text(Object.create(null)), "[Object: null prototype] {}");
  const cycle = { name: "c" };
  cycle.self = cycle;
  equal(text(cycle), '{ name: "c", self: [Circular] }');
  ok(text(new Array(1e6).fill(0)).length < 1000);
  ok(text("x".repeat(1e5)).length < 70000);
});
test("errors show their stack and cause", () => {
  const text = said(() => console.error(new RangeError("outer", { cause: new TypeError("inner") })))[0][1];
  ok(text.startsWith("RangeError: outer\n") && text.includes("console.js") && text.includes("[cause]: [TypeError: inner"), text);
});
test("groups, counts and times", () => {
  const lines = said(() => {
    console.group("g");
    console.log("a\nb");
    console.groupEnd();
    console.count();
    console.count();
    console.countReset();
    console.count();
    console.time("t");
    console.timeEnd("t");
    console.timeEnd("t");
  }).map(([, text]) => text);
  equal(lines.slice(0, 5), ["g", "  a\n  b", "default: 1", "default: 2", "default: 1"]);
  ok(/^t: \d+\.\d{3} ms$/.test(lines[5]) && lines.length === 6);
});
test("lone surrogates are made whole", () => {
  equal(said(() => console.log("\uD800"))[0][1], "\uFFFD");
});
