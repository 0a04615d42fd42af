import { app } from "sampan";

const answer = (name) => (req) => ({ route: name, params: req.params });
const marking = (mark) => async (req, next) => {
  const res = await next(req);
  res.headers.set("x-seen", (res.headers.get("x-seen") ?? "") + mark);
  return res;
};

app.get("/", answer("root of all"));
app.get("/shared", answer("shared"));
app.host("*.example.org", (below) => {
  below.use(marking("b"));
  below.get("/", answer("root below"));
  below.get("/below/*rest", answer("below"));
  below.get("/fixed", "fixed below");
});
app.host(":tenant.Example.org.", (tenant) => {
  tenant.use(marking("t"));
  tenant.get("/", answer("root of tenant"));
  tenant.group("/users", (users) => {
    users.get("/:id", { name: "user" }, answer("user of tenant"));
  });
  tenant.get("/url", () => app.urlFor("user", { id: 7 }));
  tenant.get("/url/wrong", (req) => {
    let told = "";
    try {
      app.urlFor("user", { id: 7, tenant: req.params.tenant });
    } catch (error) {
      told = error.message;
    }
    return { refused: told.includes("is a part of its host") };
  });
});
app.host("admin.example.org", (admin) => {
  admin.use(marking("a"));
  admin.get("/", answer("root of admin"));
});
app.host(":t.localhost", (tenant) => tenant.get("/", answer("here")));

// Guards of hosts that have no routes of their own.
const users = { ann: "secret" };
app.host(":area.one.example", (area) => area.use(app.basicAuth({ users })));
app.host("*.many.example", (area) => area.use("/shared", app.basicAuth({ users })));
