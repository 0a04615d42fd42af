import { app } from "sampan";

const logIn = (req, next) => next(req);
const allow = (req, next) => next(req);

app.use("/admin/*", logIn, allow);
app.get("/admin/x", () => "never");
