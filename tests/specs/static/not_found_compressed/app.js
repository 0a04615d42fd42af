import { app } from "sampan";

app.get("/page", () => app.file("404.html", { folder: "public" }, 404));
