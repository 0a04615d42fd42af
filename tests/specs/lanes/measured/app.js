// Routes that nothing is declared about. `/alternates` is slow at each second request, and quick at the others.
import { app, cache, time } from "sampan";

const lane = () => (app.worker.index > app.worker.count ? "slow" : "quick");
function work(times) {
  let sum = 0;
  for (let at = 0; at < times; at++) sum += at % 7;
  return sum;
}
const LONG = 500000;

app.get("/quick", () => lane());
app.get("/slow", () => {
  work(LONG);
  return lane();
});
app.get("/never", { slow: false }, () => {
  work(LONG);
  return lane();
});
let odd = false;
app.get("/alternates", () => {
  odd = !odd;
  if (odd) work(LONG);
  return lane();
});
// Waits for long, and runs for short times.
app.get("/waits", async () => {
  await time.sleep(0.03);
  return lane();
});
let isSlow = true;
app.get("/improves", () => {
  if (cache.get("improved")) isSlow = false;
  if (isSlow) work(LONG);
  return lane();
});
app.post("/improve", () => { cache.set("improved", true); });
