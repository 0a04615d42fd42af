import { app, env } from "sampan";

app.get("/", () => ({ path: env.get("PATH").length > 0, missing: env.get("SAMPAN_SURELY_NOT_SET") == null }));
app.get("/bad", () => env.get({}));
