import { app, db } from "sampan";

const isServer = db.dialect() === "postgres";
if (isServer) {
  db.exec("CREATE TABLE IF NOT EXISTS notes (id bigint GENERATED ALWAYS AS IDENTITY, body text)");
  db.exec("TRUNCATE notes RESTART IDENTITY");
} else {
  db.exec("CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5 (body)");
  db.exec("DELETE FROM notes");
}
db.exec("INSERT INTO notes (body) VALUES ('tea and biscuits'), ('she said \"tea\"'), ('größe')");

const FOUND = isServer
  ? "SELECT id FROM notes WHERE to_tsvector('simple', body) @@ to_tsquery('simple', ?) ORDER BY id"
  : "SELECT rowid AS id FROM notes WHERE notes MATCH ? ORDER BY rowid";

app.get("/", (req) => db.query(FOUND, [db.ftsQuery(req.query.q ?? "", { prefix: req.query.prefix === "yes" })]));
app.get("/dialect", () => ({ is_known: db.dialect() === "sqlite" || isServer }));
app.get("/option", () => db.ftsQuery("a", { prefx: true }));
app.get("/kind", () => db.ftsQuery("a", { prefix: 1 }));
