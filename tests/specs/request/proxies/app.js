import { app } from "sampan";

app.get("/", (req) => ({ ip: req.ip, url: req.url }));
