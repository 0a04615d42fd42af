import { app, json } from "sampan";

let seen = 0;
app.use("/api/*", async (req, next) => {
  if (req.headers.get("x-key") !== "right") return json({ error: "no key" }, 401);
  const res = await next(req);
  res.headers.set("x-wrapped", "yes");
  return res;
});
app.use("/read/*", async (req, next) => {
  const text = await req.clone().text();
  seen = text.length;
  return next(req);
});
app.post("/api/count", { stream: true, bodyBytesMax: "1 MB" }, async (req) => {
  let bytes = 0;
  for await (const chunk of req.body) bytes += chunk.length;
  return { bytes };
});
app.post("/read/again", { stream: true }, async (req) => {
  const text = await req.text();
  return { seen, again: text.length, json: JSON.parse(text) };
});
app.post("/read/chunks", { stream: true }, async (req) => {
  await req.text();
  await req.bytes();
});
app.onError((_, err) => ({ error: err.message }));
