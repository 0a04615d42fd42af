import { app, db, time } from "sampan";

app.get("/begin", (req) => { req.session.a = 0; req.session.b = 0; });
app.get("/slow/:key/:value", async (req) => {
  const before = req.session.a;
  await time.sleep(0.3);
  req.session[req.params.key] = req.params.value;
  return { before };
});
app.get("/flash/:text", async (req) => {
  req.flash("notice", req.params.text);
  await time.sleep(0.3);
});
app.get("/take", async (req) => {
  const messages = req.flashes();
  await time.sleep(0.3);
  return messages;
});
app.get("/slow_login", async (req) => {
  req.session.regenerate();
  await time.sleep(0.3);
  req.session.user = "ann";
});
app.get("/login_beside/:name", async (req) => {
  const before = req.session.cart;
  await time.sleep(0.3);
  req.session.regenerate();
  req.session.user = req.params.name;
  return { before };
});
app.get("/fill", (req) => { req.session.cart = "full"; });
app.get("/full", () => db.query("SELECT data FROM _sampan_sessions WHERE CAST(data AS TEXT) LIKE '%full%' ORDER BY ends"));
app.get("/logout", (req) => req.session.clear());
app.get("/renew", (req) => req.session.regenerate());
app.get("/slow_logout", async ({ session }) => {
  await time.sleep(0.3);
  session.clear();
});
app.get("/all", (req) => ({ ...req.session }));
app.get("/flashes", (req) => req.flashes().map((one) => one.message).sort());
app.get("/rows", () => db.query("SELECT data FROM _sampan_sessions"));
