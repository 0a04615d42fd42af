// Clients that leave while their request is in the slow lane.
import { app, cache, time } from "sampan";

const wait = (name) => async () => {
  cache.set(name, "runs");
  try {
    await time.sleep(60);
    cache.set(name, "ended");
  } catch (error) {
    cache.set(name, error.code);
  }
  return "never";
};
app.get("/waits", { slow: true }, wait("waits"));
app.get("/late", { slow: true }, wait("late"));
app.get("/endless", { slow: true }, () => {
  cache.set("endless", "runs");
  while (!cache.get("never"));
});
app.post("/spins", { slow: true }, () => {
  cache.set("spins", "runs");
  while (!cache.get("go"));
  return "done";
});
app.get("/queued", { slow: true }, () => { cache.set("queued", "runs"); });
app.post("/go", () => { cache.set("go", true); });
app.get("/seen/:name", (req) => cache.get(req.params.name) ?? "nothing");
app.get("/last", { slow: true }, () => "last");
