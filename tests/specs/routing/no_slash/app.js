import { app } from "sampan";

app.get("users", () => "never");
