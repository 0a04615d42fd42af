import { app } from "sampan";

app.use("/r", app.rateLimit);
app.get("/r", () => "never");
