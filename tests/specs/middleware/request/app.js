import { app, json, text } from "sampan";

app.use("/user/*", (req, next) => {
  req.state.user = req.headers.get("x-user");
  if (!req.state.user) return json({ error: "log in" }, 401);
  return next(req);
});
app.get("/user/me", (req) => ({ user: req.state.user }));
app.use("/twice", async (req, next) => {
  const first = await next(req);
  const second = await next(req);
  return { first: first.status, second: second.status };
});
let calls = 0;
app.get("/twice", () => {
  calls += 1;
  return text("call", 200 + calls);
});
