import { app, log } from "sampan";

app.get("/", () => {
  log.info("below the level");
  log.warn("at the level");
  return "logged";
});
