import { app } from "sampan";

// An app that says, wrongly, that its answers do not depend on the session's cookie.
app.use("/me", app.cached({ seconds: 600, ignoreCookies: ["session"] }));
app.use("/anyone", app.cached({ seconds: 600 }));
app.post("/login/:name", (req) => { req.session.user = req.params.name; });
app.get("/me", (req) => req.session.user ?? "none");
app.get("/anyone", (req) => req.session.user ?? "none");
