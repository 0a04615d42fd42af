import { app, db, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER PRIMARY KEY, line TEXT)"); });
const note = (line) => { db.exec("INSERT INTO done (line) VALUES (?)", [line]); };

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

const tried = (fn, ...args) => {
  try {
    fn(...args);
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
app.post("/wrong", () => [
  tried(app.enqueueBatch, "part", "text"),
  tried(app.enqueueBatch, "other", [1]),
  tried(app.enqueueBatch, "part", [1], { after: "other" }),
  tried(app.enqueueBatch, "part", [1], { after: 7 }),
  tried(app.enqueueBatch, "part", [1], { later: true }),
  tried(app.cancelJob, "seven"),
  app.cancelJob(7),
]);
app.post("/cancelled", () => {
  const id = app.enqueue("part", 1, { delay: "1 h" });
  return [app.cancelJob(id), app.cancelJob(id)];
});
app.post("/wait", () => {
  const id = app.enqueue("part", "wait");
  db.exec("INSERT INTO done (line) VALUES (?)", [`id ${id}`]);
});
app.post("/give-up", () => {
  const { line } = db.one("SELECT line FROM done WHERE line LIKE 'id %'");
  return [app.cancelJob(Number(line.slice(3)))];
});
app.get("/running", () => db.one("SELECT count(*) AS count FROM _sampan_jobs WHERE state = 'running'"));
app.get("/done", () => {
  const rows = db.query("SELECT line FROM done WHERE line NOT LIKE 'id %' ORDER BY id");
  return rows.map((row) => row.line);
});
app.post("/clear", () => { db.exec("DELETE FROM done"); });
