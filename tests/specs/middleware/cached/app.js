import { app, cache, db, text, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT)");

const LONG = "all work and no play ".repeat(40);

// Which run of the handler has made an answer.
const run = (name) => `${name} ${cache.incr(`runs:${name}`)}`;
const withHeaders = (name, headers) => () => text(run(name), { headers });

app.use(app.secureHeaders({ csp: "script-src 'nonce-{nonce}'" }));
app.use("/page/*", app.cached({ seconds: 600, query: ["page"], vary: ["X-Tenant"], ignoreCookies: ["_ga"] }));
// The outermost one counts.
app.use("/page/counted", app.cached({ seconds: 1 }));
app.use("/short", app.cached({ seconds: 0.05 }));
app.use("/page/inside", async (req, next) => {
  const res = await next(req);
  res.headers.set("x-inside", run("inside"));
  return res;
});

app.all("/page/counted", () => run("counted"));
app.get("/page/inside", () => "inner");
app.get("/page/slow", async () => {
  const made = run("slow");
  await time.sleep(0.05);
  return made;
});
app.get("/page/written", () => {
  db.exec("INSERT INTO t (name) VALUES ('a')");
  return run("written");
});
app.get("/page/rolled", () => {
  const made = run("rolled");
  try {
    db.batch(() => {
      db.exec("INSERT INTO t (name) VALUES ('b')");
      throw new Error("rolled back");
    });
  } catch { /* on purpose */ }
  return made;
});
app.get("/page/json", () => ({ made: run("json") }));
app.get("/page/missing", () => text(run("missing"), 404));
app.get("/page/fails", () => { throw new Error(run("fails")); });
app.get("/page/refused", () => text(run("refused"), 403));
app.get("/page/etag", { etag: true }, () => text(run("etag"), { headers: { ETag: '"v1"' } }));
app.get("/page/long", () => run("long") + LONG);
app.get("/page/cookie", (req) => {
  req.setCookie("seen", "1");
  return run("cookie");
});
app.get("/page/nonce", (req) => run("nonce") + (req.cspNonce ? "" : "none"));
app.get("/page/private", withHeaders("private", { "Cache-Control": "max-age=60, Private" }));
app.get("/page/store", withHeaders("store", { "Cache-Control": "no-store" }));
app.get("/page/agent", withHeaders("agent", { Vary: "User-Agent" }));
app.get("/page/tenant", withHeaders("tenant", { Vary: "X-Tenant, Accept" }));
app.get("/page/large", () => run("large") + "x".repeat(1024 * 1024));
app.get("/page/file", () => app.file("notes.txt", { folder: "files" }));
app.get("/short", () => run("short"));
