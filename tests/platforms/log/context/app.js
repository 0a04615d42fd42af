import { app, log, time } from "sampan";

// Nothing in the handler's own text says that it goes on after it has returned.
const save = async (name) => {
  await time.sleep(0.001);
  log.info(`saved ${name}`);
  return name;
};
app.get("/called", (req) => save("first"));
app.get("/started", (req) => {
  save("started");
  return "answered";
});
