import { app } from "sampan";

app.get("/", () => "served");
