import { app } from "sampan";

app.all("/show/:name", async (req) => ({
  method: req.method, path: req.path, name: req.params.name, q: req.query.q, ip: req.ip,
  agent: req.headers.get("User-Agent"), lower: req.headers.get("user-agent"), missing: !req.headers.has("x-none"),
  body: (await req.text()) || undefined,
}));
app.get("/url", (req) => req.url);
app.get("/query", (req) => req.query);
app.get("/headers", (req) => ({ one: req.headers.get("X-Many"), cookie: req.headers.get("cookie") }));
app.get("/state", (req) => {
  const before = req.state.seen ?? false;
  req.state.seen = true;
  return { before, after: req.state.seen };
});
