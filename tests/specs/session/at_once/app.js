import { app, db, session, time } from "sampan";

// Where a request has a name for it, it stops there until another one lets it go.
app.get("/prepare", async () => {
  await db.exec("CREATE TABLE stops (name TEXT PRIMARY KEY, is_over INTEGER NOT NULL)");
});
async function waitFor(name, isOver) {
  while (!(await db.one("SELECT 1 AS is_there FROM stops WHERE name = ? AND is_over = ?", [name, isOver]))) {
    await time.sleep(0.01);
  }
}
async function stop({ query }) {
  if (query.stop) {
    await db.exec("INSERT INTO stops VALUES (?, 0)", [query.stop]);
    await waitFor(query.stop, 1);
  }
}
app.get("/stops/:name", (req) => waitFor(req.params.name, 0));
app.get("/go/:name", async (req) => { await db.exec("UPDATE stops SET is_over = 1 WHERE name = ?", [req.params.name]); });

app.get("/begin", (req) => { req.session.a = 0; req.session.b = 0; });
app.get("/slow/:key/:value", async (req) => {
  const before = req.session.a;
  await stop(req);
  req.session[req.params.key] = req.params.value;
  return { before };
});
app.get("/flash/:text", async (req) => {
  req.flash("notice", req.params.text);
  await stop(req);
});
app.get("/take", async (req) => {
  const messages = req.flashes();
  await stop(req);
  return messages;
});
app.get("/slow_login", async (req) => {
  req.session.regenerate();
  await stop(req);
  req.session.user = "ann";
});
app.get("/login_beside/:name", async (req) => {
  const before = req.session.cart;
  await stop(req);
  req.session.regenerate();
  req.session.user = req.params.name;
  return { before };
});
app.get("/fill", (req) => { req.session.cart = "full"; });
app.get("/full", () => db.query("SELECT data FROM _sampan_sessions WHERE CAST(data AS TEXT) LIKE '%full%' ORDER BY CAST(data AS TEXT)"));
app.get("/logout", (req) => req.session.clear());
app.get("/renew", (req) => req.session.regenerate());
app.get("/enter/:user", (req) => { req.session.user = req.params.user; });
app.get("/slow_renew", async (req) => {
  const before = req.session.user;
  await stop(req);
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
app.get("/slow_logout", async (req) => {
  const { session } = req;
  await stop(req);
  session.clear();
});
app.get("/all", (req) => ({ ...req.session }));
app.get("/flashes", (req) => req.flashes().map((one) => one.message).sort());
app.get("/rows", () => db.query("SELECT data FROM _sampan_sessions"));
