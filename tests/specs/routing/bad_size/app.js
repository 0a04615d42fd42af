import { app } from "sampan";

app.post("/upload", { bodyBytesMax: "ten megs" }, () => "never");
