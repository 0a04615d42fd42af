import { app } from "sampan";
app.get("/", { slow: "yes" }, () => "never");
