// What may depend on writes that are not committed is seen by others when they are.
import { app, cache, db } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";

app.get("/get/:key", (req) => ({ value: cache.get(req.params.key) ?? "none" }));
app.post("/write", () => {
  db.exec(ADD, ["a"]);
  cache.set("write", 1);
  const set = cache.get("write");
  cache.delete("write");
  const deleted = cache.get("write") == null;
  cache.set("write", 2);
  return [set, deleted, cache.get("write")];
});
app.post("/many", () => {
  db.exec(ADD, ["many"]);
  const value = "x".repeat(1_000_000);
  for (let i = 0; i < 12; i++) cache.set(`many${i}`, value);
  return [cache.get("many0") == null, cache.get("many11").length];
});
app.get("/many", () => [cache.get("many0") == null, cache.get("many11").length]);
app.post("/once", async () => {
  db.exec(ADD, ["b"]);
  cache.set("once", "old");
  cache.delete("once");
  const made = await cache.once("once", () => db.one("SELECT count(*) AS n FROM t").n);
  return [made, await cache.once("once", () => "again")];
});
app.post("/batch", () => {
  cache.set("batch", "before");
  try {
    db.batch(() => {
      db.exec(ADD, ["c"]);
      cache.set("batch", "inside");
      throw new Error("rolled back");
    });
  } catch {}
  return [cache.get("batch")];
});
app.post("/transaction/:end", async (req) => {
  let seen, once;
  try {
    await db.transaction(async (tx) => {
      tx.exec(ADD, [`d${req.params.end}`]);
      cache.set("transaction", req.params.end);
      once = await cache.once("in transaction", () => req.params.end);
      seen = cache.get("transaction");
      if (req.params.end === "fails") throw new Error("rolled back");
    });
  } catch {}
  return [seen, once, cache.get("transaction") ?? "none", cache.get("in transaction") ?? "none"];
});
