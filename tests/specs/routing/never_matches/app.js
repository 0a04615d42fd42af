import { app } from "sampan";

app.use("/admin?x=1", (req, next) => next(req));
