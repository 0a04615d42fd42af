import { app, time } from "sampan";

app.health("at-once", () => false);
app.health("later", async () => {
  await time.sleep(0.001);
  return false;
});
app.health("nothing", () => {});
app.health("zero", () => 0);
app.health("null", async () => null);
app.health("text", () => "false");
app.get("/", () => "here");
