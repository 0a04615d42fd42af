import { app, db, session } from "sampan";

app.post("/login/:id", (req) => { req.session.user_id = Number(req.params.id); });
app.get("/me", (req) => ({ id: req.session.user_id ?? 0 }));
app.post("/end/:id", async (req) => ({ ended: await session.endAll({ user_id: Number(req.params.id) }) }));
app.post("/password", async (req) => {
  const id = req.session.user_id;
  const ended = await session.endAll({ user_id: id });
  req.session.clear();
  req.session.user_id = id;
  return { ended };
});
app.post("/true", (req) => { req.session.user_id = true; });
app.post("/end_true", async () => ({ ended: await session.endAll({ user_id: true }) }));
app.post("/key", () => session.endAll({ "a') OR 1 --": 1 }));
app.post("/none", () => session.endAll({}));
app.post("/keys", async () => {
  for (let at = 1; at <= 4; at++) await session.endAll({ [`k${at}`]: "x" });
});
app.get("/plan", () => db.query("EXPLAIN QUERY PLAN SELECT id FROM _sampan_sessions WHERE json_extract(data, '$.user_id') = 7"));
