import { app, json } from "sampan";

app.use(() => json({ error: "nobody may" }, 403));
app.get("/_sampan/health", () => "the app's own");
app.get("/_sampan/health/other", () => "the app's own");
