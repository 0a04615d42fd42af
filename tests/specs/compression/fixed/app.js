import { app } from "sampan";

const TEXT = "all work and no play makes jack a dull boy. ".repeat(20);

app.get("/text", TEXT);
app.get("/small", "small");
app.get("/secret", { compress: false }, (req) => (req.query.q ?? "") + TEXT);
app.get("/secret_value", { compress: false }, TEXT);
app.get("/public", { compress: true }, () => TEXT);
