import { app, text } from "sampan";

const refuse = () => text("no", 401);
app.use("/@admin/*", refuse);
app.use("/report.csv", refuse);
app.use("/secret/index.html", refuse);
app.use("/docs/", refuse);
app.use("/100%25/*", refuse);
app.use("/@team/*", refuse);
app.get("/:who/*rest", (req) => `${req.params.who} ${req.params.rest}`);
