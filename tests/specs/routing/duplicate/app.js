import { app } from "sampan";

app.get("/users/:id", () => "first");
app.get("/users/:name", () => "second");
