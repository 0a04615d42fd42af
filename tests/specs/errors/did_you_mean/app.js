import { app, db, log } from "sampan";

app.get("/app", () => app.gte("/x", () => "x"));
app.get("/module", () => log.warning("x"));
app.get("/local", () => db.qurey("x"));
app.get("/request", (req) => req.forn());
app.get("/object", (req) => req.session.claer());
app.get("/index", () => app.bd.one("x"));
app.get("/library", () => JSON.strinify("x"));
app.get("/global", () => pritn("x"));
app.get("/far", () => app.bake(1));
app.get("/listen", () => app.listen(3000));
app.get("/static", () => app.static("/files"));
app.get("/own", () => app.redirec("/"));
app.get("/nested", () => app.db.qury("x"));
