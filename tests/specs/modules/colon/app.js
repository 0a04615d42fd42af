import { app, csv, db } from "sampan";

// There is no colon in JavaScript: a function can be taken from its object instead.
app.get("/", () => {
  const { encode } = csv;
  const { batch, query } = db;
  return [encode([]), batch(() => "done"), query("SELECT 1 AS one")[0].one];
});
app.get("/rows", () => ({
  rows: db.query("SELECT 1 AS one"), none: db.query("SELECT 1 AS one WHERE 0"), row: db.one("SELECT 2 AS two"), again: [],
}));
