import { app, db, session } from "sampan";

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
app.get("/end_one/:id", async (req) => [await session.endOne({ user: "ann" }, req.params.id)]);
app.get("/end_all", async () => [await session.endAll({ user: "ann" })]);
app.get("/list", () => session.list({ user: "ann" }));
