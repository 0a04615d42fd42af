import { app } from "sampan";

app.use("/here/*", app.allowIps({ networks: ["127.0.0.1", "::1"] }));
app.get("/here/in", (req) => req.ip);
app.get("/here/fixed", { fixed: true });
