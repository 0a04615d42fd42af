import { app, text } from "sampan";

const answer = (name) => (req) => ({ route: name, params: req.params });

app.get("/", answer("root of all"));
app.get("/users/new", answer("literal of all"));
app.put("/users/:id", answer("put of all"));
app.get("/fixed", "fixed of all");
app.host("API.example.org.", (api) => {
  api.use(async (req, next) => {
    const res = await next(req);
    res.headers.set("x-api", "yes");
    return res;
  });
  api.get("/", answer("root of api"));
  api.get("/users/:id", { name: "user" }, answer("user of api"));
  api.post("/users/:id.json", answer("post of api"));
  api.group("/v1", (v1) => {
    v1.use("/secret/*", () => text("no", 403));
    v1.get("/", answer("v1 of api"));
    v1.get("/fixed", "fixed of api");
  });
});
app.host("localhost", (here) => {
  here.get("/here", answer("here"));
  here.get("/users/new", answer("literal of localhost"));
});
app.use("/all", () => text("all"));
app.get("/url", () => app.urlFor("user", { id: 7 }));
