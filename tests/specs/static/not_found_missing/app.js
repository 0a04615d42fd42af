import { app } from "sampan";

app.get("/", () => "in");
