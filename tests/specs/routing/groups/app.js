import { app, text } from "sampan";

app.group("/api", (api) => {
  api.use(async (req, next) => {
    const res = await next(req);
    res.headers.set("x-api", "yes");
    return res;
  });
  api.get("/", () => "api root");
  api.get("/users/:id", (req) => ({ id: req.params.id }));
  api.group("/v2", (v2) => {
    v2.use("/secret/*", () => text("no", 403));
    v2.post("/users", async (req) => ({ made: await req.json() }));
    v2.get("/secret/plan", () => "plan");
  });
});
app.get("/users/:id", () => "outside");
