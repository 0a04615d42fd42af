import { app, text } from "sampan";

app.get("/thing", () => ({ ok: true }));
app.post("/thing", () => ({ posted: true }));
app.options("/own", () => text("mine", { headers: { "X-Own": "yes" } }));
app.get("/own", { fixed: true });
