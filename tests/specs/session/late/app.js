import { app, stream, time } from "sampan";

let kept;
const error = (fn) => { try { fn(); return "none"; } catch (error) { return error.message; } };
app.get("/stream", (req) => {
  req.session.n = 1;
  return stream(async (write) => {
    await write("n is " + req.session.n);
    await write(", " + error(() => { req.session.n = 2; }));
  });
});
app.get("/first", (req) => stream(async (write) => {
  await write("n is " + req.session.n);
  await write(", " + error(() => req.flash("notice", "late")));
}));
app.get("/keep", (req) => { kept = req.session; kept.n = 5; });
app.get("/use", () => {
  const message = error(() => { kept.n = 6; });
  return { n: kept.n, message };
});
app.get("/n", (req) => ({ n: req.session.n }));
app.get("/put", (req) => { req.session.put = "x".repeat(60); });
app.get("/too-much", async (req) => {
  req.session.more = "x".repeat(60);
  await time.sleep(0.3);
  return stream((write) => write("begun"));
});
app.get("/keys", (req) => Object.keys(req.session).sort());
