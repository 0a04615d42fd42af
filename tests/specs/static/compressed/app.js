import { app } from "sampan";

app.get("/here", () => "here");
