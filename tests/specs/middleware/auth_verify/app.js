import { app, db, time } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, password TEXT, role TEXT)");
  db.exec("INSERT OR REPLACE INTO users VALUES ('ann', 'secret', 'admin')");
});

app.use("/admin/*", app.basicAuth({ verify: async (user, password, req) => {
  await time.sleep(0.001);
  if (user === "boom") throw new Error("verify broke");
  if (user === "yes") return true;
  const found = db.one("SELECT name, role FROM users WHERE name = ? AND password = ?", [user, password]);
  if (found) found.path = req.path;
  return found;
} }));
app.use("/admin/*", async (req, next) => {
  const res = await next();
  if (req.auth !== true) res.headers.set("x-role", req.auth.role);
  return res;
});
app.use("/api/*", app.bearerAuth({ realm: "api", verify: (token) => token === "t" && token }));
app.get("/admin/me", (req) => req.auth);
app.get("/admin/yes", (req) => [req.auth]);
app.get("/api/me", (req) => req.auth);

// What means "no" in a language, each as a token.
class Query {
  then(done) { done(0); }
}
const nobody = { false: false, zero: 0, minus: -0, nan: NaN, empty: "", thenable: new Query() };
app.use("/falsy/*", app.bearerAuth({ verify: (token) => nobody[token] }));
app.get("/falsy/me", (req) => ({ auth: req.auth }));

// Two guards: what the second one decides counts, whatever was read before.
app.use("/both/*", app.basicAuth({ verify: (user) => ({ user }) }));
app.use("/both/*", (req, next) => {
  req.session.seen = req.auth.user;
  return next();
});
app.use("/both/second/*", app.rateLimit({ limit: 1000, per: 60, key: (req) => req.auth.user }));
app.use("/both/second/*", app.basicAuth({ verify: (user) => ({ user: `${user} again` }) }));
app.get("/both/first", (req) => req.auth);
app.get("/both/second/me", (req) => ({ user: req.auth.user, seen: req.session.seen }));
