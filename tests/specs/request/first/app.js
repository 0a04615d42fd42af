import { app, first } from "sampan";

app.get("/", (req) => ({ tag: first(req.query.tag), list: Array.isArray(req.query.tag) }));
app.post("/", async (req) => ({ tag: app.first((await req.form()).tag) }));
