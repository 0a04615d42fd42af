import { app, html, redirect, text } from "sampan";

app.get("/", () => text("x", { headers: { "Set-Cookie": ["a=1", "b=2"], "X-One": "1" } }));
app.get("/away", () => redirect("/größe x"));
app.get("/html", () => html(undefined));
app.get("/status", () => redirect("/", 200));
