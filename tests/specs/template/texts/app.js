import { app } from "sampan";

app.get("/page", (req) => req.render("page.html", { count: 1 }));
app.get("/plain", () => app.render("plain.html"));
app.get("/wrong", (req) => req.render("wrong.html"));
