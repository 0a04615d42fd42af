import { app } from "sampan";

app.post("/upload", { stream: "yes" }, () => "never");
