import { app } from "sampan";

app.use("/open/*", app.secureHeaders());
app.use("/admin/*", app.basicAuth({ users: { ann: "pass:word" } }));
app.use("/api/*", app.bearerAuth({ tokens: { ci: "token-1" } }));
app.use("/limited/*", app.rateLimit({ limit: 1, per: 3600 }));
app.use("/fonts/*", app.cors({ origins: ["https://a.example"] }));
