import { app } from "sampan";

app.get("/", (req) => ({ is_nothing: req.tls === null }));
