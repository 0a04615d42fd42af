// What a handler may do, in the slow lane.
import { app, db, json, text, time } from "sampan";

const SLOW = { slow: true };

db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE)");
app.use("/limited", app.rateLimit({ limit: 2, per: 3600 }));
app.use("/wrapped", (req, next) => {
  const res = next(req);
  res.headers.set("x-wrapped", String(app.worker.index));
  return res;
});

const lane = () => (app.worker.index > app.worker.count ? "slow" : "quick");
const count = () => db.one("SELECT count(*) AS n FROM notes").n;
const add = (note) => db.exec("INSERT INTO notes (text) VALUES (?)", [note]);

app.get("/quick", () => ({ lane: lane(), notes: count() }));
app.get("/never", { slow: false }, () => lane());
app.get("/fixed", SLOW, { value: 1 });
app.post("/write/:text", SLOW, async (req) => {
  const body = await req.text();
  add(req.params.text);
  return { lane: lane(), notes: count(), body, q: req.query.q };
});
app.get("/wait", SLOW, async () => {
  await time.sleep(0.01);
  return lane();
});
app.post("/transaction/:end", SLOW, (req) => db.transaction(async (tx) => {
  tx.exec("INSERT INTO notes (text) VALUES (?)", [`in ${req.params.end}`]);
  await time.sleep(0.01);
  if (req.params.end === "fail") throw Object.assign(new Error("rolled back"), { status: 409 });
  return { lane: lane() };
}));
app.post("/login", SLOW, (req) => {
  req.session.user = "ann";
  return json({ lane: lane() }, { headers: { "set-cookie": ["a=1", "b=2"] } });
});
app.get("/me", SLOW, (req) => ({ lane: lane(), user: req.session.user }));
app.get("/me/quick", (req) => ({ lane: lane(), user: req.session.user }));
app.get("/limited", SLOW, () => lane());
app.get("/wrapped", SLOW, () => lane());
app.get("/error", SLOW, () => { throw new Error("it fails in the lane"); });
app.get("/refused", SLOW, () => { throw Object.assign(new Error("a teapot"), { status: 418 }); });
app.get("/ip", SLOW, (req) => ({
  ip: req.ip, id: req.headers.get("x-request-id"), host: req.headers.get("host"),
}));
app.all("/method", SLOW, (req) => text(`${req.method} ${lane()}`, { status: 201 }));
app.get("/big", SLOW, () => "x".repeat(300000));
app.get("/at/*rest", SLOW, (req) => ({ rest: req.params.rest, lane: lane() }));
app.get("/nothing", SLOW, () => {});
