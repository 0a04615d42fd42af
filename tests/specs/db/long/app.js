import { app, db } from "sampan";

const LONG = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?) SELECT count(*) AS n FROM n";

app.get("/long/:n", (req) => db.query(LONG, [Number(req.params.n)]));
app.get("/one/:n", (req) => db.one(LONG, [Number(req.params.n)]));
app.get("/explicit/:n", (req) => db.queryAsync(LONG, [Number(req.params.n)]));
app.get("/explicit-one/:n", (req) => db.oneAsync(LONG, [Number(req.params.n)]));
app.get("/write-async", () => db.queryAsync("CREATE TABLE x (a INTEGER)"));
app.get("/quick", () => "quick");
