import { app, session, stream, time } from "sampan";

app.post("/login/:id", (req) => { req.session.user_id = Number(req.params.id); });
app.get("/me", (req) => ({ id: req.session.user_id ?? 0 }));
app.post("/end/:id", async (req) => ({
  ended: await session.endAll({ user_id: Number(req.params.id) }, req.session),
}));
app.post("/renew/:id", async (req) => {
  const id = Number(req.params.id);
  req.session.regenerate();
  req.session.renewed = true;
  return { ended: await session.endAll({ user_id: id }, req.session) };
});
app.get("/list/:id", async (req) => {
  const list = await session.list({ user_id: Number(req.params.id) }, req.session);
  const now = time.now();
  const isGood = (one) =>
    /^[0-9a-f]{64}$/.test(one.id) && one.began <= now && one.began > now - 600 && one.ends > now + 600;
  return {
    sessions: list.length, current: list.filter((one) => one.current).length, good: list.filter(isGood).length,
  };
});
app.get("/unmarked/:id", async (req) => {
  const [first] = await session.list({ user_id: Number(req.params.id) });
  return { current: first.current };
});
// Which ones are that of the request, in the order of the list.
app.get("/order/:id", async (req) => {
  const list = await session.list({ user_id: Number(req.params.id) }, req.session);
  return list.map((one) => one.current);
});
// Ends the newest session of one user as `as`.
app.post("/end_newest/:id/as/:as", async (req) => {
  const [{ id }] = await session.list({ user_id: Number(req.params.id) });
  return { ended: await session.endOne({ user_id: Number(req.params.as) }, id) };
});
app.post("/end_one/:session", async (req) => ({ ended: await session.endOne({ user_id: 7 }, req.params.session) }));
app.post("/wrong/one", () => session.endOne({}, ""));
app.get("/late/:id", (req) => {
  const id = Number(req.params.id);
  req.session.regenerate();
  return stream(async (write) => {
    const ended = await session.endAll({ user_id: id }, req.session);
    const list = await session.list({ user_id: id }, req.session);
    await write(`ended ${ended}, listed ${list.length}`);
  });
});
app.post("/wrong/end", () => session.endAll({ user_id: 7 }, { exceptCurrent: true }));
app.get("/wrong/list", () => session.list({ user_id: {} }));
