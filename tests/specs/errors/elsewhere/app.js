import { app, db, log } from "sampan";

app.get("/variable", () => process.cwd());
app.get("/require", () => require("fs"));
app.get("/buffer", () => Buffer.from("x"));
app.get("/folder", () => __dirname);
app.get("/listen", () => app.listen(3000));
app.get("/gather", () => app.gather(() => 1));
app.get("/run", () => db.run("SELECT 1"));
app.get("/destroy", (req) => req.session.destroy());
app.get("/near", () => log.warning("x"));
app.get("/own", () => missing);
