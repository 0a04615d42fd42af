import { app, db } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)");

app.post("/people/:name", (req) => {
  const age = req.query.age;
  return db.exec("INSERT INTO people (name, age) VALUES (?, ?)", [req.params.name, age ? Number(age) : null]);
});
app.get("/people", () => db.query("SELECT name, id, age FROM people ORDER BY id"));
app.get("/none", () => db.query("SELECT * FROM people WHERE id < 0"));
app.get("/one/:id", (req) =>
  db.one("SELECT * FROM people WHERE id = :id", { id: Number(req.params.id) }) ?? { found: false });
app.get("/changed/:id", (req) => {
  const row = db.one("SELECT * FROM people WHERE id = ?", [Number(req.params.id)]);
  row.age = null;
  row.extra = "x";
  return row;
});
app.get("/returning", () => db.query("INSERT INTO people (name) VALUES ('r'), ('s') RETURNING name, age"));
app.get("/update", () => db.exec("UPDATE people SET age = 1 WHERE name IN ('r', 's')"));
app.get("/own", () => {
  db.exec("INSERT INTO people (name) VALUES ('own')");
  const row = db.one("SELECT count(*) AS n FROM people WHERE name = 'own'");
  db.exec("DELETE FROM people WHERE name = 'own'");
  return row;
});
app.get("/tagged", () => db.sql`SELECT name FROM people WHERE name = ${"a' OR 1=1 --"}`);
app.get("/exec-select", () => db.exec("SELECT * FROM people"));
