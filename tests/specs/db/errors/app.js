import { app, db } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS team (id INTEGER PRIMARY KEY, name TEXT)");
db.exec(`CREATE TABLE IF NOT EXISTS user (
  id INTEGER PRIMARY KEY, team INTEGER REFERENCES team (id), email TEXT NOT NULL, area TEXT, age INTEGER CONSTRAINT adult CHECK (age > 17),
  UNIQUE (email, area)) STRICT`);
db.exec("CREATE UNIQUE INDEX IF NOT EXISTS by_lower ON team (lower(name))");
db.exec("CREATE TRIGGER IF NOT EXISTS closed BEFORE DELETE ON user BEGIN SELECT RAISE(ABORT, 'users stay'); END");
db.exec("INSERT OR IGNORE INTO user (id, email, area) VALUES (1, 'ann', 'x')");
db.exec("INSERT OR IGNORE INTO team VALUES (1, 'One')");

const BUSY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000) ";
const cases = {
  unique: () => db.exec("INSERT INTO user (email, area) VALUES ('ann', 'x')"),
  primary_key: () => db.exec("INSERT INTO user (id, email) VALUES (1, 'bob')"),
  unique_index: () => db.exec("INSERT INTO team VALUES (2, 'ONE')"),
  foreign_key: () => db.exec("INSERT INTO user (team, email) VALUES (99, 'bob')"),
  not_null: () => db.exec("INSERT INTO user (email) VALUES (NULL)"),
  check: () => db.exec("INSERT INTO user (email, age) VALUES ('bob', 3)"),
  type: () => db.exec("INSERT INTO user (email, age) VALUES ('bob', 'old')"),
  mismatch: () => db.exec("INSERT INTO team VALUES ('two', 'x')"),
  trigger: () => db.exec("DELETE FROM user"),
  syntax: () => db.query("SELEC 1"),
  no_table: () => db.query("SELECT * FROM nowhere"),
  no_column: () => db.query("SELECT nothing FROM user"),
  two_statements: () => db.exec("DELETE FROM team; DELETE FROM user"),
  parameter: () => db.query("SELECT ?, ?", [1]),
  name: () => db.query("SELECT :a", { b: 1 }),
  data: () => db.query("SELECT json('{')"),
  denied: () => db.exec("COMMIT"),
  vacuum: () => db.exec("VACUUM"),
  too_large: () => db.query("SELECT zeroblob(20000000)"),
  result: () => db.query("SELECT zeroblob(2000000)"),
  timeout: () => db.exec(BUSY + "INSERT INTO team (name) SELECT x FROM n WHERE x < 0"),
  later: () => db.queryAsync(BUSY + "SELECT count(*) FROM n"),
  thread: () => db.queryAsync("INSERT INTO team (name) VALUES ('two')"),
  in_batch: () => db.batch(() => db.exec("INSERT INTO user (email) VALUES (NULL)")),
};

const told = ({ code, table, columns, constraint, status }) => ({ code, table, columns, constraint, status });

app.get("/case/:name", async (req) => {
  try {
    await cases[req.params.name]();
    return { ok: true };
  } catch (error) {
    return told(error);
  }
});

function caught(run) {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

// The same as in Lua, as far as an `Error` has it.
app.get("/text", () => {
  const error = caught(cases.unique);
  const words = "UNIQUE constraint failed: user.email, user.area";
  return {
    prints: String(error) === "Error: " + error.message, joins: "why: " + error === "why: " + String(error),
    has_methods: error instanceof Error, message: error.message.startsWith(words),
    has_place: Object.hasOwn(error, "code"), has_stack: error.stack.includes("app.js:"), other: error.other === undefined,
  };
});

app.get("/again", () => {
  const first = caught(cases.unique);
  const second = caught(() => { throw first; });
  return { same: first === second, code: second.code };
});

app.get("/uncaught", () => cases.unique());
app.get("/rethrown", () => {
  try {
    cases.not_null();
  } catch (error) {
    throw error;
  }
});
app.get("/status", () => {
  try {
    cases.unique();
  } catch (error) {
    if (error.code === "unique") throw Object.assign(new Error("taken already"), { status: 409 });
    throw error;
  }
});
app.get("/plain", () => ({ error: typeof caught(() => { throw "text"; }) }));
app.onError((_, error) => {
  if (error.status === 409) return { message: error.message };
  return { code: error.code ?? null, table: error.table, columns: error.columns, constraint: error.constraint };
});
