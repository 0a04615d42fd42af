import { app, db } from "sampan";

const isServer = db.dialect() === "postgres";
// SQL that the two databases write in different words.
const kind = isServer ? "pg_typeof(:max)::text" : "typeof(:max)";
const bytes = isServer
  ? "SELECT upper(encode(?, 'hex')) AS h, pg_typeof(CAST(? AS bytea))::text AS t, '\\x00ff10'::bytea AS b"
  : "SELECT hex(?) AS h, typeof(?) AS t, x'00ff10' AS b";

app.get("/text", () => db.one("SELECT ? AS a, ? AS b, length(?) AS c", ["", "é🛶", "é🛶"]));
app.get("/nul", () => db.one("SELECT length(?) AS c", ["a\0b"]));
app.get("/numbers", () => db.one("SELECT ? AS a, ? AS b, ? AS c, ? AS d", [0.1, -5, true, false]));
app.get("/typed", () => {
  const sql = "SELECT CAST(? AS double precision) AS a, CAST(? AS bigint) AS b, CAST(? AS bigint) AS c, CAST(? AS bigint) AS d";
  return db.one(sql, [0.1, -5, true, false]);
});
app.get("/as-text", () => db.one("SELECT CAST(? AS text) AS a", [2 ** 53]));
app.get("/big", async () => {
  const row = await db.one("SELECT 9223372036854775807 AS max, -9223372036854775807 - 1 AS min, 9007199254740992 AS exact");
  const back = await db.one(`SELECT :max = 9223372036854775807 AS same, ${kind} AS kind`, { max: row.max });
  return { row, back };
});
app.get("/blob", async () => {
  const blob = new Uint8Array([9, 255, 0, 1]).subarray(1);
  const row = await db.one(bytes, [blob, blob.slice().buffer]);
  return { h: row.h, t: row.t, len: row.b.length, last: row.b[2] };
});
app.get("/null", async () => {
  const sql = "SELECT CAST(? AS text) IS NULL AS a, CAST(? AS text) IS NULL AS b, CAST(? AS bigint) AS c";
  const row = await db.one(sql, [undefined, null, 1]);
  return { ...row, absent: (await db.one("SELECT NULL AS n")).n === null };
});
app.get("/untyped", () => db.one("SELECT ? IS NULL AS a", [null]));
const bad = {
  few: () => db.query("SELECT ?, ?", [1]),
  many: () => db.query("SELECT ?", [1, 2]),
  unknown: () => db.query("SELECT :a", { a: 1, b: 2 }),
  missing: () => db.query("SELECT :a, :b", { a: 1 }),
  table: () => db.query("SELECT ?", [[1]]),
  func: () => db.query("SELECT ?", [() => 1]),
  nan: () => db.query("SELECT ?", [NaN]),
  date: () => db.query("SELECT CAST(? AS double precision)", [new Date(NaN)]),
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
app.get("/bad/:what", async (req) => {
  try {
    await bad[req.params.what]();
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/uncaught", () => db.query("SELECT * FROM nobody"));
