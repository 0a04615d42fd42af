import { app } from "sampan";

app.get("/", (req) => req.session.user);
