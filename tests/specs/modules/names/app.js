import { app } from "sampan";

app.get("/", () => ({ runtime: app.runtime, version: /^\d+\.\d+\.\d+$/.test(app.version) }));
