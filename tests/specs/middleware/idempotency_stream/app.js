import { app } from "sampan";

app.use("/api/*", app.idempotency({ user: () => 1 }));
app.post("/api/upload", { stream: true }, () => "never");
