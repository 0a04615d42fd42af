import { app } from "sampan";

app.get("/", { bodyBytes: 10 }, () => "never");
