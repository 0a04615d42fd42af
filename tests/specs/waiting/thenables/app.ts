import { app, db, json } from "sampan";

// A query as builders make it: no promise, but awaited as one. It begins when it is awaited.
class Query {
  run: () => unknown;
  constructor(run: () => unknown) { this.run = run; }
  then(resolve: (value: unknown) => void, reject: (reason: unknown) => void) {
    new Promise((done) => setTimeout(done, 1)).then(this.run).then(resolve, reject);
  }
}
const query = (run: () => unknown): any => new Query(run);

app.onStart(() => query(() => db.exec("CREATE TABLE IF NOT EXISTS notes (line TEXT)")));

app.use("/around/*", (_, next) => next());
app.use("/instead/*", () => query(() => ({ by: "middleware" })));
for (const path of ["/rows", "/around/rows"]) app.get(path, () => query(() => [{ id: 1 }]));
app.get("/instead/rows", () => "never");
app.get("/plain", (): any => ({ then: (resolve: (value: unknown) => void) => resolve("plain") }));
app.get("/once", (): any => {
  let asked = 0;
  return { get then() {
    asked += 1;
    return (resolve: (value: unknown) => void) => resolve({ asked });
  } };
});
app.get("/data", () => ({ then: "later" }));
app.get("/thrown", () => query(() => { throw json({ error: "taken" }, 409); }));
for (const path of ["/getter", "/around/getter"]) {
  app.get(path, (): any => ({ get then() { throw Object.assign(new Error("asked"), { status: 418 }); } }));
}

app.job("note", (line: string) => query(() => db.exec("INSERT INTO notes VALUES (?)", [line])));
app.post("/notes", async () => { await app.enqueue("note", "by a job"); });
app.get("/notes", () => query(() => db.query("SELECT line FROM notes")));
