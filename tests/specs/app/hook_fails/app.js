import { app, time } from "sampan";

app.onStart(async () => {
  await time.sleep(0.001);
  throw new Error("no seed data");
});
app.get("/", () => "never");
