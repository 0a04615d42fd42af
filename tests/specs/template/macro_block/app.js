import { app, render } from "sampan";

app.get("/page", () => render("page.txt", { name: "Ann" }));
app.get("/child", () => render("child.txt", { name: "Ann" }));
app.get("/fault", () => render("fault.txt"));
