import { app } from "sampan";

app.all("/change", (req) => req.method);
app.post("/fixed", { done: true });
app.get("/fixed", { done: false });
