import { app, text } from "sampan";

app.post("/change", () => "changed");
app.post("/hooks", () => "the path itself");
app.post("/hooks/:name", (req) => req.params.name);
app.onError((req, err) => text(`page: ${err.message.slice(0, 7)}`, err.status));
