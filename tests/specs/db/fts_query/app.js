import { app, db } from "sampan";

db.exec("CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5 (body)");
db.exec("DELETE FROM notes");
db.exec("INSERT INTO notes VALUES ('tea and biscuits'), ('she said \"tea\"'), ('größe')");

app.get("/", (req) => {
  const query = db.ftsQuery(req.query.q ?? "", { prefix: req.query.prefix === "yes" });
  return { query, rows: db.query("SELECT rowid AS id FROM notes WHERE notes MATCH ? ORDER BY rowid", [query]) };
});
app.get("/option", () => db.ftsQuery("a", { prefx: true }));
app.get("/kind", () => db.ftsQuery("a", { prefix: 1 }));
