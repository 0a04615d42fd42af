import { app, db } from "sampan";

app.get("/begin", (req) => { req.session.user = "ann"; return { ok: true }; });
app.get("/me", (req) => ({ user: req.session.user ?? "nobody" }));
app.get("/count", () => db.one("SELECT count(*) AS n FROM _sampan_sessions"));
app.get("/ends", () => db.one("SELECT max(ends - began) >= 3200 AS moved FROM _sampan_sessions"));
