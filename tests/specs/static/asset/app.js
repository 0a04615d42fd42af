import { app, render, text } from "sampan";

app.get("/page", () => render("page.html"));
app.get("/missing", () => render("missing.html"));
app.get("/wrong", () => render("wrong.html"));
app.get("/url", (req) => app.asset(req.query.name));
app.onError((_, error) => text(error.message, error.status));
