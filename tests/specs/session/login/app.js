import { app, db } from "sampan";

app.post("/login/:name", (req) => {
  req.session.regenerate();
  req.session.user = req.params.name;
  return { ok: true };
});
app.post("/logout", (req) => {
  req.session.clear();
  return { user: req.session.user === undefined, keys: req.session.keys().length };
});
app.post("/switch/:name", (req) => {
  req.session.clear();
  req.session.user = req.params.name;
});
app.get("/me", (req) => ({ user: req.session.user ?? "nobody", visits: req.session.visits ?? 0 }));
app.post("/visit", (req) => { req.session.visits = (req.session.visits ?? 0) + 1; });
// Logs in without a new id, as a careless app does.
app.post("/careless/:name", (req) => { req.session.user = req.params.name; });

app.get("/rows", () => db.query(`SELECT length(id) AS length, data FROM _sampan_sessions
  WHERE CAST(data AS TEXT) NOT LIKE '%moved_to%' ORDER BY CAST(data AS TEXT)`));
app.get("/tables", () => db.query("SELECT name FROM sqlite_schema WHERE name LIKE '_sampan%'"));
app.get("/forge", () => db.exec("INSERT INTO _sampan_sessions VALUES (x'00', '{}', 0, 9e15)"));
