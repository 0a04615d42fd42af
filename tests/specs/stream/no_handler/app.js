import { app } from "sampan";

app.post("/", { stream: true });
