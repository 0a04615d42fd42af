import { app } from "sampan";

app.use("/in/*", app.basicAuth({ users: { ann: "secret" } }));
app.use("/as/*", app.bearerAuth({ verify: (token) => ({ id: token.length, roles: ["a", "b"] }) }));
app.use("/in/*", (req, next) => {
  req.user = { name: "Ann", tags: ["x"] };
  req.level = 7;
  req.find = () => {};
  req.state.seen = "yes";
  return next(req);
});
app.use("/own/*", (req, next) => {
  Object.defineProperty(req, "auth", { value: "of the script", enumerable: true });
  return next(req);
});
app.use("/large/*", (req, next) => {
  req.rows = "x".repeat(70000);
  return next(req);
});

function show(ws, name) {
  const { req } = ws;
  if (name === "base") {
    ws.send(`${req.method} ${req.path} ${req.url.match(/\/in.*/)[0]} ${req.cookies.a} ${typeof req.id}`);
  } else if (name === "user") {
    ws.send(`${req.user.name} ${req.user.tags[0]} ${req.level} ${req.find ?? "nil"} ${req.state.seen}`);
  } else if (name === "auth") {
    const { auth } = req;
    ws.send(typeof auth === "object" ? `${auth.id} ${auth.roles.join(" ")}` : String(auth ?? "nil"));
  } else {
    ws.send(`${req.state.seen ?? "nil"} ${req.user ?? "nil"} ${req.tls ?? "nil"} ${typeof req.locale}`);
  }
}
for (const path of ["/in/x", "/as/x", "/own/x", "/large/x", "/none"]) app.ws(path, { message: show });

app.post("/login", (req) => { req.session.user = "ann"; });
app.get("/me", (req) => ({ user: req.session.user ?? null, seen: req.session.seen ?? null }));

function attempt(ws, act) {
  try {
    act();
    ws.send("done");
  } catch (error) {
    ws.send((error.message.match(/a socket cannot [^,]*/) ?? error.message.match(/the session [^:]*/) ?? ["?"])[0]);
  }
}
app.ws("/session", {
  upgrade(req) {
    if (req.query.begin) req.session.user = "new";
  },
  message(ws, message) {
    const { session } = ws.req;
    if (message === "keys") {
      ws.send(`${session.keys().join(" ")}|${session.get("user") ?? "nil"}`);
    } else if (message === "set") {
      attempt(ws, () => { session.seen = 1; session.set("other", [2]); });
    } else if (message === "clear") {
      attempt(ws, () => session.clear());
    } else if (message === "regenerate") {
      attempt(ws, () => session.regenerate());
    } else {
      ws.send(String(session[message] ?? "nil"));
    }
  },
});
