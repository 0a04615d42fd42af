import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)"); });
const note = (line) => { db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [line]); };

app.job("part", { attempts: 1 }, async (args) => {
  if (args === "broken") throw new Error("broken");
  if (args === "wait") {
    note("waits");
    await time.sleep(60);
  }
});
app.job("report", (args) => {
  note(`done ${args.done} dead ${args.dead} cancelled ${args.cancelled} for ${args.args.name}`);
});

const tried = async (fn, ...args) => {
  try {
    await fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
};

app.post("/batch", () => {
  app.enqueueBatch("part", [1, "broken", [2], "three"], { after: "report", args: { name: "four" } });
});
app.post("/empty", () => { app.enqueueBatch("part", [], { after: "report", args: { name: "none" } }); });
app.post("/empty-table", () => { app.enqueueBatch("part", [], { after: "report", args: { name: "none" } }); });
app.post("/wrong", async () => [
  await tried(app.enqueueBatch, "part", "text"),
  await tried(app.enqueueBatch, "other", [1]),
  await tried(app.enqueueBatch, "part", [1], { after: "other" }),
  await tried(app.enqueueBatch, "part", [1], { after: 7 }),
  await tried(app.enqueueBatch, "part", [1], { later: true }),
  await tried(app.cancelJob, "seven"),
  await app.cancelJob(7),
]);
app.post("/cancelled", async () => {
  const id = await app.enqueue("part", 1, { delay: "1 h" });
  return [await app.cancelJob(id), await app.cancelJob(id)];
});
app.post("/wait", async () => {
  const id = await app.enqueue("part", "wait");
  db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", [`id ${id}`]);
});
app.post("/give-up", async () => {
  const { line } = await db.one("SELECT line FROM done WHERE line LIKE 'id %'");
  return [await app.cancelJob(Number(line.slice(3)))];
});
app.get("/running", () => db.one("SELECT count(*) AS count FROM _sampan_jobs WHERE state = 'running'"));
app.get("/done", async () => {
  const rows = await db.query("SELECT line FROM done WHERE line NOT LIKE 'id %' ORDER BY id");
  return rows.map((row) => row.line);
});
app.post("/clear", () => { db.exec("DELETE FROM done"); });
