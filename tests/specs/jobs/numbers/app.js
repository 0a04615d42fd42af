import { app, db } from "sampan";

app.onStart(() => db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)"));
app.job("note", (args) => db.exec("INSERT INTO done (line) VALUES (?)", [`${args.kind} ${args.number}`]));

const tried = async (fn, ...args) => {
  try {
    await fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
};

app.post("/keep", async () => {
  await app.enqueue("note", { kind: "one", number: 9007199254740993n });
  await app.enqueueBatch("note", [{ kind: "batch", number: -9223372036854775807n }]);
});
app.get("/done", async () => {
  const rows = await db.query("SELECT line FROM done ORDER BY line");
  return rows.map((row) => row.line);
});
app.post("/wrong", async () => [
  await tried(app.enqueue, "note", { number: 18446744073709551615n }),
  await tried(app.enqueueBatch, "note", [1, { number: 18446744073709551615n }]),
  await tried(app.enqueueBatch, "note", [1, 2, "x".repeat(2000)]),
  await tried(app.enqueueBatch, "note", [1], { after: "note", args: "x".repeat(3000) }),
  await tried(app.enqueueBatch, "note", [1], { after: "note", args: [18446744073709551615n] }),
  await tried(app.enqueueBatch, "note", "text"),
  await tried(app.enqueueBatch, "other", [1]),
]);
app.get("/jobs", () => db.one("SELECT count(*) AS count FROM _sampan_jobs"));
