import { app, time } from "sampan";

let ended = 0;
app.get("/never", async () => {
  await new Promise(() => {});
  return "too late";
});
app.get("/late", async () => {
  await time.sleep(0.8);
  ended += 1;
  return "late";
});
app.get("/ended", () => ({ ended }));
