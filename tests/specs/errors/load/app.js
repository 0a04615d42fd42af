import { app } from "sampan";

app.get("/", () => "never";

app.get("/more", () => "never");
