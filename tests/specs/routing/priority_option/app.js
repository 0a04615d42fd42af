import { app } from "sampan";
app.get("/", { priority: "urgent" }, () => "never");
