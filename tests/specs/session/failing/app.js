import { app, db, text } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE)");

app.get("/begin", (req) => { req.session.n = 1; });
app.get("/fail", (req) => {
  req.session.n = 2;
  req.session.more = true;
  req.flash("notice", "lost");
  throw new Error("on purpose");
});
app.get("/fail_login", (req) => { req.session.regenerate(); req.session.user = "ann"; throw new Error("on purpose"); });
app.get("/fail_logout", (req) => { req.session.clear(); throw new Error("on purpose"); });
app.get("/caught", (req) => {
  req.session.n = 3;
  try { throw new Error("caught"); } catch {}
});
app.get("/undone", (req) => {
  req.session.n = 4;
  db.exec("INSERT INTO notes VALUES ('x')");
  try { db.exec("INSERT OR ROLLBACK INTO notes VALUES ('x')"); } catch {}
});
app.get("/all", (req) => ({ n: req.session.n, more: req.session.more, user: req.session.user, flashes: req.flashes().length }));
app.get("/notes", () => db.query("SELECT * FROM notes"));
app.get("/refused", (req) => { req.session.refused = true; throw Object.assign(new Error("no"), { status: 422 }); });
app.onError((req, error) => {
  if (req.path === "/refused") {
    req.session.told = (req.session.told ?? 0) + 1;
    return text("told " + (req.session.refused === undefined ? "nil" : "it"), { status: 422 });
  }
  return text("failed", { status: 500 });
});
app.get("/told", (req) => ({ told: req.session.told, refused: req.session.refused }));
