import { app, db } from "sampan";

app.get("/text", () => db.one("SELECT ? AS a, ? AS b, length(?) AS c", ["", "é🛶", "a\0b"]));
app.get("/numbers", () => db.one("SELECT ? AS a, ? AS b, ? AS c, ? AS d", [0.1, -5, true, false]));
app.get("/big", () => {
  const row = db.one("SELECT 9223372036854775807 AS max, -9223372036854775807 - 1 AS min, 9007199254740992 AS exact");
  const back = db.one("SELECT :max = 9223372036854775807 AS same, typeof(:max) AS kind", { max: row.max });
  return { row, back };
});
app.get("/blob", () => {
  const bytes = new Uint8Array([9, 255, 0, 1]);
  const row = db.one("SELECT hex(?) AS h, typeof(?) AS t, x'00ff10' AS b", [bytes.subarray(1), bytes.buffer]);
  return { h: row.h, t: row.t, len: row.b.length, last: row.b[2] };
});
app.get("/null", () => {
  const row = db.one("SELECT ? IS NULL AS a, ? IS NULL AS b, ? AS c", [undefined, null, 1]);
  return { ...row, absent: db.one("SELECT NULL AS n").n === null };
});
const bad = {
  few: () => db.query("SELECT ?, ?", [1]),
  many: () => db.query("SELECT ?", [1, 2]),
  unknown: () => db.query("SELECT :a", { a: 1, b: 2 }),
  missing: () => db.query("SELECT :a, :b", { a: 1 }),
  table: () => db.query("SELECT ?", [[1]]),
  func: () => db.query("SELECT ?", [() => 1]),
  nan: () => db.query("SELECT ?", [NaN]),
  two: () => db.query("SELECT 1; SELECT 2"),
  empty: () => db.query("  "),
  syntax: () => db.query("SELECT\n  name FORM people"),
  quoted: () => db.query('SELECT "text"'),
  none: () => db.query("SELECT * FROM nobody"),
  begin: () => db.exec("BEGIN"),
  commit: () => db.exec("COMMIT"),
  savepoint: () => db.exec("SAVEPOINT x"),
  attach: () => db.exec("ATTACH 'x.db' AS x"),
  vacuum: () => db.exec("VACUUM INTO 'x.db'"),
  extension: () => db.query("SELECT load_extension('x')"),
  tokenizer: () => db.one("SELECT fts3_tokenizer(?) AS address", ["simple"]),
  pragma: () => db.exec("PRAGMA synchronous = OFF"),
  temp: () => db.exec("CREATE TEMP TABLE x (a)"),
};
app.get("/bad/:what", (req) => {
  try {
    bad[req.params.what]();
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/uncaught", () => db.query("SELECT * FROM nobody"));
