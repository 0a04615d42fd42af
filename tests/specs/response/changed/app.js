import { app, db, html, json, text } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, name TEXT)");
db.exec("INSERT OR IGNORE INTO t VALUES (1, 'one'), (2, 'two')");

// Each changes an object that native code made. Others of its kind must stay as they are.
const changes = {
  property: (it) => { it.servedBy = "me"; },
  many: (it) => { for (let i = 0; i < 200; i++) it["p" + i] = i; },
  symbol: (it) => { it[Symbol("s")] = 1; },
  index: (it) => { it[0] = "zero"; it[70000] = 1; },
  assign: (it) => Object.assign(it, { a: 1, b: 2 }),
  define: (it) => Object.defineProperty(it, "hidden", { value: 1, configurable: true }),
  accessor: (it) => Object.defineProperty(it, "asked", { get() { return 7; }, enumerable: false }),
  seal: (it) => Object.seal(it),
  freeze: (it) => Object.freeze(it),
  prevent: (it) => Object.preventExtensions(it),
  remove: (it) => { for (const key of Reflect.ownKeys(it)) Reflect.deleteProperty(it, key); it.back = 1; },
  prototype: (it) => Object.setPrototypeOf(it, Object.create(Object.getPrototypeOf(it), { added: { value: 1 } })),
  literal: (it) => ({ __proto__: it, own: 1 }),
};
const names = Object.keys(changes);

app.use("/changed/*", async (req, next) => {
  const res = await next(req);
  for (const name of names) if (req.query.how === name || req.query.how === "headers-" + name) {
    changes[name](req.query.how === name ? res : res.headers);
  }
  return res;
});
app.get("/changed/returned", () => "a string");
app.get("/changed/text", () => text("a text"));
app.get("/changed/html", () => html("<p>html</p>"));
app.get("/changed/json", () => json({ a: 1 }));
app.get("/untouched", () => {
  const one = text("x");
  return { added: one.added, servedBy: one.servedBy, frozen: Object.isFrozen(one), keys: Object.keys(one) };
});

// The same with everything else that comes from native code.
const made = {
  rows: () => db.query("SELECT id, name FROM t ORDER BY id"),
  row: () => db.one("SELECT id, name FROM t"),
  done: () => db.exec("UPDATE t SET name = name"),
  items: async (req) => (await req.json()).items,
  params: (req) => req.params,
  query: (req) => req.query,
  headers: (req) => req.headers,
  state: (req) => req.state,
  request: (req) => req,
};
app.post("/made/:kind", async (req) => {
  const all = await made[req.params.kind](req);
  for (const [at, name] of names.entries()) {
    const it = Array.isArray(all) ? all[at % all.length] : await made[req.params.kind](req);
    try { changes[name](it); } catch (error) { if (!(error instanceof TypeError)) throw error; }
  }
  if (Array.isArray(all)) for (const name of names) {
    try { changes[name](all); } catch (error) { if (!(error instanceof TypeError)) throw error; }
  }
  return { ok: true };
});
app.get("/rows", () => db.query("SELECT id, name FROM t ORDER BY id"));
