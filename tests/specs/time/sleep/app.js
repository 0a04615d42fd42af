import { app, time } from "sampan";

app.get("/sleep/:ms", async (req) => {
  await time.sleep(Number(req.params.ms) / 1000);
  return `slept ${req.params.ms}`;
});
app.get("/quick", () => "quick");
app.get("/bad/:what", async (req) => {
  const bad = { negative: -1, nan: NaN, long: 86401, text: "1" };
  try {
    await time.sleep(bad[req.params.what]);
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
