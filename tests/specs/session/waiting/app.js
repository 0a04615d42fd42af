import { app, db, time } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)");

app.get("/begin", (req) => { req.session.n = 0; });
app.get("/transaction", async (req) => {
  req.session.before = 1;
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO notes VALUES ('a')");
    req.session.inside = 2;
    await time.sleep(0.4);
  });
  req.session.after = 3;
});
let holds = false;
app.get("/hold", async () => {
  await db.transaction(async () => {
    holds = true;
    await time.sleep(0.7);
    holds = false;
  });
});
app.get("/holding", async () => {
  while (!holds) await time.sleep(0.01);
});
// The first write of this route comes while another request has the write connection: it waits, and nobody else does.
app.get("/set/:n", (req) => { req.session.n = req.params.n; });
app.get("/flash", async (req) => { req.flash("notice", 1); await time.sleep(0.01); });
app.get("/read", (req) => ({ n: req.session.n }));
app.get("/all", (req) => {
  const s = req.session;
  return { n: s.n, before: s.before, inside: s.inside, after: s.after, flashes: req.flashes().length };
});
app.use("/wrapped", async (req, next) => {
  req.session.outer = "before";
  const res = await next(req);
  req.session.outer += " after";
  return res;
});
app.get("/wrapped", (req) => { req.session.outer += " inside"; return "ok"; });
app.get("/outer", (req) => ({ outer: req.session.outer }));
