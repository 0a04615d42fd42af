import { app } from "sampan";

app.post("/", async (req) => app.nested(await req.form()));
app.get("/", (req) => app.nested(req.query));
app.get("/wrong", () => app.nested("text"));
