import { app, db } from "sampan";

app.get("/eat", () => {
  const t = [];
  for (let i = 0; i < 1e9; i++) t.push("x".repeat(1000) + i);
});
const kept = [];
app.get("/keep", () => {
  for (let i = 0; i < 1e9; i++) kept.push("x".repeat(1000) + i);
});
app.get("/fine", () => "fine");
// More than fits, in arguments of queries that nothing has awaited.
app.get("/wait/:count", async (req) => {
  const text = "x".repeat(1_000_000);
  const all = [];
  for (let left = Number(req.params.count); left > 0; left--) all.push(db.queryAsync("SELECT length(?) AS n", [text]));
  return (await Promise.all(all)).length;
});
