import { app, session, time } from "sampan";

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
app.post("/wrong/end", () => session.endAll({ user_id: 7 }, { exceptCurrent: true }));
app.get("/wrong/list", () => session.list({ user_id: {} }));
