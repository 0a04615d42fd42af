import { app, db } from "sampan";

app.get("/login/:name", (req) => {
  req.session.regenerate();
  req.session.user = req.params.name;
  req.flash("notice", "welcome");
});
app.get("/me", (req) => ({ user: req.session.user, flashes: req.flashes().length }));
app.get("/large", (req) => { req.session.large = "x".repeat(3000); });
app.get("/logout", (req) => req.session.clear());
app.get("/fail", (req) => { req.session.user = "other"; throw new Error("on purpose"); });
app.get("/tables", () => db.query("SELECT name FROM sqlite_schema"));
