import { app, db, session, time } from "sampan";

app.get("/begin", (req) => { req.session.a = 0; req.session.b = 0; });
app.get("/slow/:key/:value", async (req) => {
  const before = req.session.a;
  await time.sleep(0.6);
  req.session[req.params.key] = req.params.value;
  return { before };
});
app.get("/flash/:text", async (req) => {
  req.flash("notice", req.params.text);
  await time.sleep(0.6);
});
app.get("/take", async (req) => {
  const messages = req.flashes();
  await time.sleep(0.6);
  return messages;
});
app.get("/slow_login", async (req) => {
  req.session.regenerate();
  await time.sleep(0.6);
  req.session.user = "ann";
});
app.get("/login_beside/:name", async (req) => {
  const before = req.session.cart;
  await time.sleep(0.6);
  req.session.regenerate();
  req.session.user = req.params.name;
  return { before };
});
app.get("/fill", (req) => { req.session.cart = "full"; });
app.get("/full", () => db.query("SELECT data FROM _sampan_sessions WHERE CAST(data AS TEXT) LIKE '%full%' ORDER BY ends"));
app.get("/logout", (req) => req.session.clear());
app.get("/renew", (req) => req.session.regenerate());
app.get("/enter/:user", (req) => { req.session.user = req.params.user; });
app.get("/slow_renew", async (req) => {
  const before = req.session.user;
  await time.sleep(0.6);
  req.session.regenerate();
  return { before };
});
app.get("/open/:user", async (req) => ({ open: (await session.list({ user: req.params.user })).length }));
app.get("/end_others/:user", async (req) => ({ ended: await session.endAll({ user: req.params.user }, req.session) }));
app.get("/end_others/:user/renew", async (req) => {
  const ended = await session.endAll({ user: req.params.user }, req.session);
  req.session.regenerate();
  return { ended };
});
app.get("/slow_logout", async ({ session }) => {
  await time.sleep(0.6);
  session.clear();
});
app.get("/all", (req) => ({ ...req.session }));
app.get("/flashes", (req) => req.flashes().map((one) => one.message).sort());
app.get("/rows", () => db.query("SELECT data FROM _sampan_sessions"));
