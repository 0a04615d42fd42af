import { app, cache, db, json, text, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS orders (user TEXT, item TEXT)");

const run = (name) => `${name} ${cache.incr(`runs:${name}`)}`;
async function waitFor(key) {
  while (cache.get(key) == null) await time.sleep(0.002);
}

app.use(app.secureHeaders());
// Who asks is known before the key is looked at.
app.use("/api/*", async (req, next) => {
  const token = req.headers.get("x-token");
  if (token === "revoked") return text("no", 401);
  req.state.user = token;
  const res = await next(req);
  res.headers.set("x-around", "yes");
  return res;
});
app.use("/api/late", async (req, next) => {
  const res = await next(req);
  if (req.headers.get("x-late")) throw new Error("too late");
  return res;
});
app.use("/api/*", app.idempotency({ user: (req) => req.state.user }));
// The outermost one counts.
app.use("/api/*", app.idempotency({ user: () => 1, hours: 1 }));
app.use("/strict", app.idempotency({ user: async () => { await time.sleep(0.001); return 7; }, required: true }));

async function order(req) {
  db.exec("INSERT INTO orders (user, item) VALUES (?, ?)", [req.state.user ?? "none", await req.text()]);
  req.setCookie("seen", "1");
  return json({ made: run("order") }, { status: 201, headers: { Location: "/orders/1" } });
}
app.post("/api/orders", order);
app.put("/api/orders", order);
app.get("/api/orders", () => run("read"));
app.get("/api/count", () => String(db.one("SELECT count(*) AS n FROM orders").n));
app.post("/api/slow", async () => {
  cache.set("slow", 1);
  await waitFor("go");
  return run("slow");
});
app.get("/api/wait", async () => {
  await waitFor("slow");
  return "it runs";
});
app.post("/api/go", () => { cache.set("go", 1); });
app.post("/api/fails", () => { throw new Error(run("fails")); });
app.post("/api/busy", () => text(run("busy"), 503));
app.post("/api/conflict", () => text(run("conflict"), 409));
app.post("/api/waits", async (req) => {
  await order(req);
  await time.sleep(0.001);
  return run("waits");
});
app.post("/api/transaction", async () => {
  await db.transaction((tx) => { tx.exec("INSERT INTO orders (user, item) VALUES ('t', 't')"); });
  return run("transaction");
});
app.post("/api/late", () => run("late"));
app.post("/api/large", () => run("large") + "x".repeat(1024 * 1024));
app.post("/strict", () => run("strict"));
app.get("/keys", () =>
  db.query("SELECT count(*) AS n, max(length(id)) AS id FROM _sampan_idempotency WHERE instr(body, 'strict') > 0"));
