import { app } from "sampan";

app.use("/office/*", app.cached({ seconds: 60 }));
app.use("/office/plan", app.allowIps({ networks: ["10.0.0.0/8"] }));
app.get("/office/plan", () => "plan");
