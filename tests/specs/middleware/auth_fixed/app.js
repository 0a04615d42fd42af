import { app } from "sampan";

app.use("/admin/*", app.basicAuth({ realm: 'the "back" room', users: { ann: "pass:word", "Zoë": "naïve" } }));
app.use("/api/*", app.bearerAuth({ tokens: { ci: "token-1", cron: "token-2" } }));
app.get("/admin/me", (req) => req.auth);
app.get("/admin/fixed", { open: false });
app.get("/api/me", (req) => req.auth);
app.get("/open", (req) => ({ auth: req.auth }));
