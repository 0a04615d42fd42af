import { app, log } from "sampan";

app.get("/", () => {
  log.debug("fine print");
  log.info("plain message");
  log.warn("with fields", { user: "ann" });
  app.log.error({ code: 7 });
  log.info("two\nlines", { note: "a b" });
  log.info("twice", { n: 1.5, yes: true });
  return "logged";
});
app.get("/print", () => {
  console.log("printed text");
  return "printed";
});
