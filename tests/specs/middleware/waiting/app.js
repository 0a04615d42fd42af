import { app, text, time } from "sampan";

app.use(async (req, next) => {
  const begun = time.nowMs();
  let res;
  try {
    res = await next(req);
  } catch {
    return text("failed below next", 500);
  }
  res.headers.set("x-waited", String(time.nowMs() - begun >= 29));
  await time.sleep(0.005);
  return res;
});
app.get("/sleep", async () => {
  await time.sleep(0.03);
  return "slept";
});
app.get("/fail", async () => {
  await time.sleep(0.005);
  throw new Error("after sleep");
});
