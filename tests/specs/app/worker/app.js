import { app } from "sampan";

app.get("/", () => app.worker);
