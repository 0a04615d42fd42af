import { app, time } from "sampan";

// A callback that returns a promise does not wait: its promise is the order, or the text.
app.get("/sort", () => [3, 1, 2].sort(async (a, b) => {
  await time.sleep(0.001);
  return a - b;
}));
app.get("/gsub", () => "a".replace(/\w/g, async (c) => {
  await time.sleep(0.001);
  return c;
}));
app.get("/after", async () => {
  await time.sleep(0.001);
  return "after";
});
