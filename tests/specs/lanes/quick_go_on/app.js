// A slow route does not end before a quick one has been answered, and there is one worker.
import { app, cache } from "sampan";

const isSlow = () => app.worker.index > app.worker.count;

app.get("/spin/:name", { slow: true }, (req) => {
  cache.set("spins", true);
  while (!cache.get(req.params.name));
  return { name: req.params.name, slow: isSlow() };
});
app.get("/spins", () => ({ spins: cache.get("spins") ?? false, slow: isSlow() }));
app.get("/go/:name", (req) => {
  cache.set(req.params.name, true);
  return { slow: isSlow() };
});
