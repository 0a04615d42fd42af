import { app } from "sampan";

app.post("/change", () => "changed");
