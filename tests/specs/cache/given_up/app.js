import { app, cache, time } from "sampan";

app.get("/hold", () => app.lock("held", () => time.sleep(60)));
app.get("/take", () => app.lock("held", { timeout: 50 }, () => "free"));
app.get("/make", (req) => cache.once("made", async () => {
  await time.sleep(Number(req.query.time));
  return `made in ${req.query.time}`;
}));
