// Quick routes beside slow ones, as measured by `cargo xtask bench load`:  sampan run examples/bench_load/app.js
import { app, db, password } from "sampan";

// Of "over the water".
const HASH = "$argon2id$v=19$m=19456,t=2,p=1$GVZ5XdcP/cXjUxGUptRElA$qG0A4sFY3fCgXpSj2L8Tj+cuYwKizKMhYtD/jSlCNCY";

// So many steps of a generator of numbers: every server computes the same.
function compute(req) {
  const steps = Number(req.params.steps);
  let x = 1;
  for (let step = 0; step < steps; step++) x = (x * 16807) % 2147483647;
  return { x };
}

app.get("/quick", () => ({ status: "ok" }));

app.get("/burn/:steps", compute);
app.get("/work/:steps", compute);

app.post("/login", async () => ({ ok: await password.verify("over the water", HASH) }));

app.get("/rows", () => {
  const rows = db.query("SELECT id, n FROM numbers");
  let sum = 0;
  for (const row of rows) sum += row.n;
  return { rows: rows.length, sum };
});
