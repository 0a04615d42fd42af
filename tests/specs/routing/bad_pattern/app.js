import { app } from "sampan";

app.get("/files/*rest/more", () => "never");
