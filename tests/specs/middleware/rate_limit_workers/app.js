import { app } from "sampan";

app.use("/", app.rateLimit({ limit: 5, per: 3600 }));
app.get("/", () => "in");
