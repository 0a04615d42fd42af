import { app } from "sampan";

app.gett("/", () => "never");
