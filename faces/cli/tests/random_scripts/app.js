// Random scripts: each request calls functions of all modules with hostile values, and changes, freezes, extends and re-parents what it was
// given and what it gets. What a script finds by itself is called, so a new function of any module is tried without a line here.
import * as sampan from "sampan";

const { app, time } = sampan;

// Bytes choose, where there are any; numbers drawn from the seed choose the rest.
function generator(seed, bytes = []) {
  let state = (seed * 2654435761 + 1) >>> 0;
  let at = 0;
  return (below) => {
    if (at + 1 < bytes.length && below > 256) return ((bytes[at++] << 8) | bytes[at++]) % below;
    if (at < bytes.length) return bytes[at++] % below;
    state ^= state << 13; state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5; state >>>= 0;
    return state % below;
  };
}

// Hashing of passwords and sleeping are slow by design, and what runs at start and stop is declared once. A program without a server has
// `calls`, by which its own file is called.
const SKIPPED = new Set([sampan.password.hash, sampan.password.verify, time.sleep, app.onStart, app.onStop, sampan.calls?.serve]);
// Every function that the module reaches, with its owner, and the names of all, which the test compares with the tables of functions.
const calls = [];
const reached = [];
const known = new Set();
(function walk(owner, depth, path) {
  if (depth > 3 || (typeof owner !== "object" && typeof owner !== "function") || owner === null || known.has(owner)) return;
  known.add(owner);
  for (const name of Reflect.ownKeys(owner)) {
    let value;
    try { value = owner[name]; } catch { continue; }
    if (typeof value === "function" && typeof name === "string" && !SKIPPED.has(value)) {
      calls.push([owner, value]);
      reached.push(`${path}.${name}`);
    }
    walk(value, depth + 1, name);
  }
})({ ...sampan, Response, Request, Headers, URL, URLSearchParams, FormData, Blob, File, TextEncoder, TextDecoder, structuredClone, atob, btoa }, 0, "");

const throwing = () => { throw new TypeError("hostile"); };
const cyclic = { a: 1 };
cyclic.self = cyclic;
const kept = []; // from earlier requests
const TEXTS = ["", "a", "\0", "\ud800", "__proto__", "constructor", "SELECT 1", "INSERT INTO t VALUES (1)", "CREATE TABLE IF NOT EXISTS t (a)",
  "/a/:b", "../../etc/passwd", "public/a.txt", "text/html", "%", "{{ [1] * 9999999 }}", "{% for", "\u{1F600}".repeat(50), "(a+)+$", "2026-02-30",
  "Europe/Berlin", "a=1&b[c]=2", "{\"a\":[1,", "é".repeat(500), "application/json", "GET", "404", "-1", "1e999", "\r\nSet-Cookie: x=1"];
const MAKERS = [
  () => undefined, () => null, () => true, () => NaN, () => -0, () => Infinity, () => 1e308, () => 2 ** 53, () => -1, () => 4294967290,
  () => 0.5, () => 7, () => 200, () => 10n, () => -(2n ** 63n), () => Symbol("s"), () => Symbol.iterator, () => ({}), () => [], () => cyclic,
  () => { const seats = []; seats[4294967290] = 1; return seats; },
  () => new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  () => new Proxy([], { get: (target, key) => (key === "length" ? 1e9 : target[key]) }),
  () => ({ get a() { throw new Error("getter"); }, b: 1 }), () => ({ toString: throwing, valueOf: throwing, toJSON: throwing }),
  () => Object.freeze({ status: 200, headers: { a: "b" } }), () => ({ __proto__: null, a: 1 }), () => new Date(NaN), () => new Map([[1, 2]]),
  () => new Set([1]), () => new Uint8Array(5), () => new Float64Array(3), () => { const b = new ArrayBuffer(8); b.transfer?.(); return new Uint8Array(b); },
  () => { const b = new ArrayBuffer(8); const view = new Uint8Array(b); b.transfer?.(); return view; },
  () => /x/g, () => () => 1, () => async () => { throw new Error("later"); }, () => function* () { yield 1; }, () => Promise.resolve(1),
  () => { const p = Promise.reject(new Error("unwatched")); p.catch(() => {}); return p; }, () => ({ then: throwing }), () => new Error("own"),
  () => { let deep = []; for (let at = 0; at < 2000; at++) deep = [deep]; return deep; }, () => Array(1000).fill("x"), () => "x".repeat(100000),
  () => ({ status: 999, headers: [["a", "b\r\n"]] }), () => ({ headers: { [Symbol()]: 1 } }), () => new Response("r"), () => new Headers({ a: "b" }),
  () => new Request("http://h/p", { method: "POST", body: "b" }), () => new URL("http://h/?a=b"), () => new FormData(), () => new Blob(["b"]),
  () => new (class Own extends Response {})("own"), () => Object.create(Response.prototype), () => new Number(5), () => Object("text"), () => globalThis,
];

const CHANGES = [
  (v, x) => { v.servedBy = x; }, (v, x) => { v.status = x; }, (v, x) => { v.headers.x = x; }, (v, x) => { v[Symbol()] = x; }, (v, x) => { v[0] = x; },
  (v) => { for (const key of Reflect.ownKeys(v)) delete v[key]; }, (v) => Object.freeze(v), (v) => Object.seal(v), (v) => Object.preventExtensions(v),
  (v, x) => Object.setPrototypeOf(v, x), (v, x) => Object.setPrototypeOf(v, Object.create(Object.getPrototypeOf(v), { y: { value: x } })),
  (v, x) => Object.assign(v, x), (v, x) => Object.defineProperty(v, "status", { get: () => x, configurable: true }),
  (v) => Object.defineProperty(v, "length", { value: 1e9 }), (v, x) => { for (let at = 0; at < 40; at++) v[`p${at}`] = x; }, (v) => JSON.stringify(v),
  (v) => String(v), (v) => structuredClone(v), (v) => ({ ...v }), (v) => [...v], (v) => Object.getOwnPropertyDescriptors(v), (v) => Object.freeze(v.headers),
  (v, x) => Object.setPrototypeOf(v.headers, x), (v, x) => { v.__proto__ = x; }, (v) => { v.length = 0; }, (v) => { v.length = 4294967295; },
];

function script(random, req) {
  const values = [req];
  const any = () => {
    const at = random(10);
    if (at < 4) {
      try { return MAKERS[random(MAKERS.length)](); } catch { return undefined; }
    }
    if (at < 6) return TEXTS[random(TEXTS.length)];
    if (at === 6 && kept.length) return kept[random(kept.length)];
    return values[random(values.length)];
  };
  const keep = (value) => {
    if (values.length < 40) values.push(value);
    else values[random(40)] = value;
  };
  const attempt = (work) => {
    try {
      const value = work();
      if (value instanceof Promise) value.catch(() => {});
      keep(value);
    } catch (error) {
      if (error === null || typeof error !== "object") return;
      keep(error);
    }
  };
  for (let step = 0; step < 12; step++) {
    const what = random(8);
    if (what < 4) {
      const [owner, call] = calls[random(calls.length)];
      const args = Array.from({ length: random(5) }, any);
      attempt(() => Reflect.apply(call, random(5) === 0 ? any() : owner, args));
    } else if (what === 4) {
      const value = any();
      attempt(() => {
        const names = Reflect.ownKeys(random(2) ? value : Object.getPrototypeOf(value));
        const name = names[random(names.length)];
        const member = value[name];
        if (SKIPPED.has(member)) return undefined;
        return typeof member === "function" ? Reflect.apply(member, value, Array.from({ length: random(3) }, any)) : member;
      });
    } else if (what === 5) {
      attempt(() => new (calls[random(calls.length)][1])(any(), any()));
    } else {
      const value = any();
      // What all requests share stays usable: the scripts themselves need it.
      if (!known.has(value) && value !== globalThis && value !== Response.prototype) attempt(() => CHANGES[random(CHANGES.length)](value, any()));
    }
  }
  for (const value of values.slice(1, 3)) kept[random(20)] = value;
  return any();
}

app.use("/run/*", async (req, next) => {
  const random = generator(Number(req.params.seed) + 7);
  const res = await next(req);
  for (let at = random(4); at > 0; at--) {
    try { CHANGES[random(CHANGES.length)](random(2) ? res : res.headers, MAKERS[random(MAKERS.length)]()); } catch { /* refused */ }
  }
  return random(3) ? res : undefined;
});
async function run(req) {
  const bytes = req.method === "POST" ? new Uint8Array(await req.arrayBuffer()) : [];
  const random = generator(Number(req.params.seed), bytes);
  let last;
  for (let count = Number(req.query.count ?? 1); count > 0; count--) {
    last = script(random, req);
    if (random(20) === 0) await time.sleep(0.001);
  }
  return last;
}
app.get("/run/:seed", run);
// The fuzz target `random_scripts` makes the bytes.
app.post("/run/:seed", run);
app.get("/reached", () => reached);
app.get("/plain", () => ({ calls: calls.length, kept: kept.length < 100 }));
app.onError(() => "failed");
