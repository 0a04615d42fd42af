import { app, db } from "sampan";

const isServer = db.dialect() === "postgres";
db.exec(`CREATE TABLE IF NOT EXISTS times
  (id int PRIMARY KEY, at timestamptz, day date, plain timestamp, price numeric, note text)`);
const atStart = db.one("SELECT CURRENT_TIMESTAMP AS at, CAST(1.5 AS numeric) AS price");

const SELECT = "SELECT at, price FROM times WHERE id = 1";

app.post("/add", async () => {
  const at = new Date("2026-01-31T12:34:56.789Z");
  const insert = "INSERT INTO times (id, at, day, plain, price) VALUES (?, ?, ?, ?, ?)";
  const { changes } = await db.exec(insert, [1, at, new Date("2026-01-31"), at, 1.5]);
  return { changes };
});
app.get("/row", () => db.one("SELECT at, day, plain, price, note FROM times WHERE id = 1"));
app.get("/rows", () => db.query("SELECT day, price FROM times WHERE id = 1"));
app.get("/ways", async () => {
  const rows = [
    atStart,
    ...await db.query(SELECT),
    await db.one(SELECT),
    ...await db.queryAsync(SELECT),
    await db.oneAsync(SELECT),
    ...await db.sql`SELECT at, price FROM times WHERE id = ${1}`,
    ...await db.transaction(async (tx) => [...await tx.query(SELECT), await tx.one(SELECT)]),
    await db.one("UPDATE times SET note = NULL WHERE id = 1 RETURNING at, price"),
  ];
  return rows.map((row) => row.at instanceof Date === isServer && row.price === 1.5);
});
app.get("/given-back", async () => {
  const { at } = await db.one(SELECT);
  return db.one("SELECT count(*) AS n FROM times WHERE at = ?", [at]);
});
app.post("/endless", async () => {
  await db.exec("INSERT INTO times (id, at, day) VALUES (?, ?, ?)", [2, Infinity, -Infinity]);
  const { at, day } = await db.one("SELECT at, day FROM times WHERE id = 2");
  return [at === Infinity, day === -Infinity];
});
