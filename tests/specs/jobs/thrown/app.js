import { app, db, json } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)"); });

const raise = (value) => { throw value; };
const thrown = {
  nothing: () => raise(undefined),
  boolean: () => raise(false),
  number: () => raise(7.5),
  text: () => raise("a text"),
  table: () => raise({ code: 7 }),
  array: () => raise([1, "two"]),
  cycle: () => {
    const cycle = {};
    cycle.cycle = cycle;
    raise(cycle);
  },
  function_: () => raise(() => {}),
  converts: () => raise({ toString: () => "converted" }),
  throws: () => raise({ toString: () => raise(new Error("again")) }),
  long: () => raise("long ".repeat(1_000_000)),
  zero: () => raise("a\0b"),
  overflow: () => {
    const deeper = () => 1 + deeper();
    deeper();
  },
  // What only JavaScript has.
  symbol: () => raise(Symbol("own")),
  null_: () => raise(null),
  rejected: () => Promise.reject(),
  getter: () => raise({ get message() { return raise(1); }, get stack() { return raise(2); } }),
};
for (const [name, fn] of Object.entries(thrown)) app.job(name, { attempts: 1, timeout: "1s" }, fn);
app.job("fine", (args) => { db.exec("INSERT INTO done VALUES (?)", [args]); });

app.post("/all", () => {
  for (const name of Object.keys(thrown)) app.enqueue(name);
  app.enqueue("fine", "goes on");
});
app.get("/dead", async () => {
  const dead = {};
  for (const { name, errors: kept } of await db.query("SELECT name, errors FROM _sampan_jobs WHERE state = 'dead'")) {
    const errors = JSON.parse(kept);
    dead[name] = [errors.length, errors[0].attempt, errors[0].error.length < 2100 && errors[0].error.slice(0, 60)];
  }
  return dead;
});
app.get("/done", async () => json(await db.query("SELECT line FROM done")));
