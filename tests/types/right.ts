// Programs that must type-check; `wrong.ts` has those that must not.
import sampan, { app, db, env, first, json, html, text, redirect, stream, time, log, upgrade } from "sampan";
import { upgradeWebSocket } from "sampan/hono";
import type { DatabaseError, FetchContext, SampanRequest, Handler, Middleware, Params, UploadedFile } from "sampan";

interface User { id: number; email: string }

app.get("/users/:id/posts/:post", (req) => {
  const id: string = req.params.id;
  const post: string = req.params.post;
  return { id, post };
});
app.get("/files/*path", (req) => req.params.path);
app.get("/rest/*", (req) => req.params["*"]);
app.get("/@:user/{:w}x{:h}/:name.:ext", ({ params: { user, w, h, name, ext } }) => user + w + h + name + ext);
app.post("/items/:id:cancel/{:n}:x.:y", ({ params: { id, n, y } }) => id + n + y);
app.host("api.example.org", (api) => { api.get("/users/:id.json", (req) => req.params.id); });
app.host(":tenant.example.org", (site) => {
  site.get("/:page", ({ params: { tenant, page } }) => tenant + page);
  site.group("/users/:id", (user) => { user.get("/:tab", ({ params: { tenant, id, tab } }) => tenant + id + tab); });
});
app.host(`:tenant.${env.get("DOMAIN")}`, (site) => { site.get("/", (req) => req.params.tenant); });
app.host("*.example.org", (all) => { all.get("/:page", (req) => req.params.page); });
app.get("/version", { version: "1.0" });
app.get("/list", [1, 2, 3]);
app.get("/text", "hello");
app.get("/response", text("x", 201));
app.get("/empty", null);
app.get("/headers", () => text("x", { headers: { "x-count": 1, "x-list": ["a", "b"] } }));
app.get("/given", () => text("x", { headers: new Headers({ a: "b" }) }));
app.post("/form", async (req) => (await req.form()).name);
app.post("/file", async (req) => (await req.form<{ picture: UploadedFile }>()).picture.size);
app.post("/unique", () => {
  try { db.exec("INSERT"); } catch (error) { return (error as DatabaseError).code + (error as DatabaseError).table; }
});
export default { fetch: (request: Request, env: object, context: FetchContext) => new Response(context.ip) };
app.get("/nothing", () => {});
app.get("/null", () => null);
app.get("/async", async (req) => ({ body: await req.json() }));
app.post("/upload/:name", { bodyBytesMax: 10 }, async (req) => { const b: Uint8Array = await req.bytes(); return `${req.params.name} ${b.length}`; });
app.group("/api/:version", (api) => {
  api.get("/things/:id", (req) => ({ v: req.params.version, id: req.params.id }));
  api.group("/deep/:x", (deep) => { deep.get("/y", (req) => req.params.x + req.params.version); });
});
const pattern: string = "/a/:b";
app.get(pattern, (req) => req.params.anything);
app.get("/rows", () => db.query<User>("SELECT * FROM users").map((user) => user.email));
app.get("/loose", () => db.query("SELECT * FROM users")[0].email);
app.get("/one", () => { const user = db.one<User>("SELECT 1"); return user === null ? text("no", 404) : user.email; });
app.get("/later", async () => (await db.queryAsync<User>("SELECT 1")).length);
app.get("/tag", () => db.sql<User>`SELECT * FROM users WHERE id = ${1}`[0].email);
app.get("/exec", () => { const { changes, lastId } = db.exec("DELETE FROM t"); return changes + lastId; });
const key: string | null = env.get("KEY");
app.get("/batch", () => ({ id: db.batch(() => db.exec("INSERT").lastId) }));
db.batch(() => { db.exec("x"); });
const auth: Middleware = async (req, next) => { if (req.headers.get("x") === null) return text("no", 401); return next(req); };
app.use(auth);
app.use("/admin/*", auth);
app.use("/timed/*", async (req, next) => { const res = await next(); res.headers.set("x-time", "1"); return res; });
const handler: Handler = (req: SampanRequest) => req.path;
app.get("/handler", handler);
const show: Handler<"/show/:id"> = (req) => req.params.id;
app.get("/show/:id", show);
app.notFound((req) => html(`no ${req.url}`, 404));
app.onError((req, error) => json({ error: String(error) }, { status: 500, headers: { "x-a": ["1", "2"] } }));
app.get("/stream", () => stream(async (write) => { await write("a"); await time.sleep(1); }));
app.get("/go", () => redirect("/"));
app.get("/map", () => new Blob(["x"]));
app.job("plain", (args) => args.anything);
app.job("resize", { attempts: 5, timeout: "1 m", backoff: 10, unique: true }, async (args, job) => { job.progress(50, "half"); job.retryIn(5); });
app.cron("0 3 * * *", "nightly", { tz: "Europe/Berlin", missed: "skip" }, (run, job) => { const due: number = run.due; job.progress(due); });
app.cron("@daily", "plain", (run) => run.due);
log.info("hello", { key });
sampan.get("/default", () => json.encode({ a: 1 }));
class Thing { name = "x"; toJSON() { return this.name; } }
app.get("/thing", () => new Thing());
interface P { a: number }
const pp: P = { a: 1 };
app.get("/iface", pp);
app.get("/typed", (req: SampanRequest) => req.path);
app.get("/typed/:id", { stream: true }, async (req: SampanRequest) => req.params.id);
app.get("/typed/:id", (req: SampanRequest<"/typed/:id">) => req.params.id);
app.group("/g", (g) => { g.post("/typed", (req: SampanRequest) => req.path); });
app.post("/checked", async (req) => {
  const { data, errors } = req.validate(await req.form(), { name: "string" });
  if (errors) return json(errors, 422);
  return data.name;
});
app.post("/checked", async (req) => {
  const checked = app.validate(await req.json(), { name: "string" });
  return checked.errors === null ? checked.data.name : checked.errors.name;
});
const owner = { name: { required: true, max: 30 }, birthDate: { type: "date", max: "today" } };
app.post("/owners", async (req) => app.validate(await req.form(), owner).errors);
app.post("/exact", async (req) => {
  const { data, errors } = req.validate(await req.json(), {
    name: { required: true },
    age: "integer",
    role: { enum: ["admin", "user"], default: "user" },
    tags: { type: "list", items: "string", required: true },
    address: { type: "object", required: true, fields: { street: { required: true } } },
  });
  if (errors) return json(errors, 422);
  const name: string = data.name;
  const age: number | undefined = data.age;
  const role: "admin" | "user" = data.role;
  const tags: string[] = data.tags;
  return [name, age, role, tags, data.address.street.length];
});
app.post("/photos", async (req) => {
  const { title, photo } = await req.form();
  if (!photo?.save) throw Object.assign(new Error("choose one photo"), { status: 422 });
  await photo.save("photos/x.jpg");
  return { title: first(title), name: photo.name, size: photo.size };
});
app.use(app.rateLimit({ limit: 10, per: 60, key: (req) => req.headers.get("x-key") }));
app.use("/admin/*", app.bearerAuth({ tokens: { ci: "secret" } }));
app.use("/login/*", app.basicAuth({ realm: "x", verify: async (user, password) => user === password }));
app.use(app.cors({ origins: ["https://app.example"], maxAge: 60 }));
app.use(app.secureHeaders({ hsts: false }));
const found = app.regex.new("a", { flags: "i" }).find("A");
setTimeout(() => console.log(new URL("http://x/").pathname, new TextEncoder().encode("x").length, crypto.randomUUID()), 10);
const read = new ReadableStream<string>({ start(controller) { controller.enqueue("x"); controller.close(); } });
app.get("/socket", (req) => {
  const { socket, response } = upgrade(req, { protocol: ["a"], messageBytesMax: "1 MiB" });
  socket.onmessage = ({ data }) => socket.send(typeof data === "string" ? data : new Uint8Array(2));
  socket.addEventListener("close", ({ code }) => log.info(code.toFixed()), { once: true });
  return response;
});
upgradeWebSocket(() => ({ onMessage: (event, ws) => ws.send(event.data) }), { compress: true });
