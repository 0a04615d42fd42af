import { app, text } from "sampan";

app.get("/", (req) => `${req.locale} ${req.textDirection}`);
app.get("/nothing", () => "plain");
app.get("/own", (req) => text(req.locale, { headers: { "Content-Language": "x" } }));
