import { app, data, html, json, objects, probe, redirect, text } from "sampan";

// What native code makes, each time anew.
const MAKERS = {
  text: () => text("a text"),
  html: () => html("<p>html</p>"),
  json: () => json({ a: 1 }),
  status: () => text("none", 404),
  redirect: () => redirect("/there"),
  response: () => new Response("own", { headers: { a: "b" } }),
  clone: () => text("a text").clone(),
  headersOfText: () => text("a text").headers,
  headersOfHtml: () => html("<p>html</p>").headers,
  headersOfResponse: () => new Response("own").headers,
  rows: () => data.people(),
  row: () => data.person(1),
  lastRow: () => data.people().at(-1),
  noRows: () => data.nobody(),
  wide: () => data.wide(40),
  wideRow: () => data.wide(40)[0],
  oddCells: () => data.oddCells(),
  oddNames: () => data.oddNames()[0],
  result: () => probe.runIt(),
  echo: () => probe.echo({ a: [1, { b: 2 }], c: "d" }),
  echoed: () => probe.echo([1, 2, 3]),
  box: () => objects.box(),
  counter: () => objects.counter(),
  parsed: () => JSON.parse('{"a":1,"list":[{"x":1,"y":2},{"x":3,"y":4}]}'),
  parsedItem: () => JSON.parse('[{"x":1,"y":2},{"x":3,"y":4}]')[1],
  bytes: () => new TextEncoder().encode("bytes"),
  url: () => new URL("http://h/p?a=b"),
  request: () => new Request("http://h/p", { method: "POST", body: "b" }),
};
// What a request has.
const OF_REQUEST = {
  req: (req) => req,
  params: (req) => req.params,
  query: (req) => req.query,
  headers: (req) => req.headers,
  state: (req) => req.state,
};

const CHANGES = [
  (it, x) => { it.servedBy = x; },
  (it, x) => { it.status = x; },
  (it, x) => { it[Symbol("s")] = x; },
  (it, x) => { it[0] = x; it[70000] = x; },
  (it, x) => { for (let at = 0; at < 100; at++) it["p" + at] = x; },
  (it, x) => Object.assign(it, { a: x, b: 2, name: x }),
  (it, x) => Object.defineProperty(it, "hidden", { value: x, configurable: true }),
  (it, x) => Object.defineProperty(it, "asked", { get: () => x, enumerable: true, configurable: true }),
  (it, x) => Object.defineProperty(it, Reflect.ownKeys(it)[0] ?? "first", { get: () => x, configurable: true }),
  (it) => Object.defineProperty(it, Reflect.ownKeys(it)[0] ?? "first", { enumerable: false, writable: false }),
  (it) => { for (const key of Reflect.ownKeys(it)) Reflect.deleteProperty(it, key); },
  (it) => { Reflect.deleteProperty(it, Reflect.ownKeys(it)[0]); it.back = 1; },
  (it) => Object.freeze(it),
  (it) => Object.seal(it),
  (it) => Object.preventExtensions(it),
  (it, x) => Object.setPrototypeOf(it, Object.create(Object.getPrototypeOf(it), { added: { value: x } })),
  (it) => Object.setPrototypeOf(it, null),
  (it, x) => Object.setPrototypeOf(it, Object(x)),
  (it, x) => ({ __proto__: it, own: x }),
  (it) => Object.create(it, { own: { value: 1 } }),
  (it) => { for (const value of Object.values(it)) if (value !== null && typeof value === "object") value.deep = 1; },
  (it) => { if (Array.isArray(it)) { it.length = 0; it.push(1, 2, 3); } },
  (it) => { if (Array.isArray(it)) it.length = 100000; },
  (it) => { if (Array.isArray(it)) for (const item of it) if (typeof item === "object") item.extra = it; },
  (it) => JSON.stringify(it),
  (it) => ({ ...it }),
  (it) => structuredClone(it),
  (it) => json(it),
  (it) => probe.echo(it),
];
const VALUES = [undefined, null, 1, -0.5, "text", 10n, Symbol.iterator, {}, [], () => 1, /x/];

// Which names an object has, of what kind, whose it is, and whether it may be changed. Not its values: the order of `Object.values` and
// the values themselves are looked at by what JSON gives.
function shown(it, depth = 2) {
  if (it === null || typeof it !== "object") return typeof it === "symbol" ? "symbol" : typeof it + " " + String(it);
  const prototype = Object.getPrototypeOf(it);
  const lines = [prototype?.constructor?.name, Object.isExtensible(it), it.added, it.own];
  for (const key of Reflect.ownKeys(it)) {
    const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(it, key);
    lines.push(String(key), writable, enumerable, configurable, depth > 0 ? shown(value, depth - 1) : typeof value);
  }
  return "{" + lines.map(String).join() + "}";
}
const names = Object.keys(MAKERS);
// The classes of the Web are put in place when a script first names one.
for (const name of names) MAKERS[name]();
const always = Object.fromEntries(names.map((name) => [name, shown(MAKERS[name]())]));

const kept = []; // from earlier requests, so that shapes outlive them

app.post("/", async (req) => {
  const { seed, bytes, alike } = await req.json();
  always.alike ??= shown(alike.at(-1));
  if (shown(alike.at(-1)) !== always.alike) return `alike is ${shown(alike.at(-1))}, and was ${always.alike}`;
  let state = seed;
  let at = 0;
  const below = (end) => {
    if (at < bytes.length) return bytes[at++] % end;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % end;
  };
  const made = [];
  for (let step = 0; step < 24; step++) {
    const what = below(8);
    if (what < 3 || made.length === 0) made.push(MAKERS[names[below(names.length)]]());
    else if (what === 3) {
      const ofRequest = Object.values(OF_REQUEST);
      const which = below(ofRequest.length + alike.length);
      made.push(which < ofRequest.length ? ofRequest[which](req) : alike[which - ofRequest.length]);
    } else if (what === 4 && kept.length) made.push(kept[below(kept.length)]);
    else {
      const it = made[below(made.length)];
      const value = below(4) === 0 ? made[below(made.length)] : VALUES[below(VALUES.length)];
      try {
        const changed = CHANGES[below(CHANGES.length)](it, value);
        if (changed !== null && typeof changed === "object" && !VALUES.includes(changed)) made.push(changed);
      } catch { /* refused */ }
    }
  }
  // What is made now is not what was changed.
  for (let count = 0; count < 4; count++) {
    const name = names[below(names.length)];
    const now = shown(MAKERS[name]());
    if (now !== always[name]) return `${name} is ${now}, and was ${always[name]}`;
  }
  kept[below(32)] = made[below(made.length)];
  return "as always";
});
