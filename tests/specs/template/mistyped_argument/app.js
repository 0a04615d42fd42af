import { app, render } from "sampan";

app.get("/", () => render("page.html"));
