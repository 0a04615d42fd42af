import { app, time } from "sampan";

let begun = 0;
let ended = 0;
app.get("/long", async () => {
  begun += 1;
  await time.sleep(0.25);
  ended += 1;
  return "late";
});
app.get("/count", () => ({ begun, ended }));
