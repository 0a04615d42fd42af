import { app, stream } from "sampan";

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
