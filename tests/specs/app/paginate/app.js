import { app, db, render } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, name TEXT)");
db.exec("DELETE FROM rows");
db.exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45) INSERT INTO rows SELECT i, 'row ' || i FROM n");

app.get("/", (req) => {
  const total = db.one("SELECT count(*) AS n FROM rows").n;
  const pages = app.paginate(total, { query: req.query, perPage: 10 });
  const rows = db.query("SELECT id FROM rows ORDER BY id LIMIT ? OFFSET ?", [pages.limit, pages.offset]);
  return { pages, rows: rows.length, first: rows[0].id };
});
app.get("/page", (req) => render("list.html", { pages: app.paginate(45, { query: req.query, perPage: 10, param: "p" }) }));
app.get("/plain", () => app.paginate(3));
app.get("/total", () => app.paginate(-1));
app.get("/size", () => app.paginate(1, { perPage: 0 }));
app.get("/option", () => app.paginate(1, { size: 3 }));
