import { app } from "sampan";

const down = (n) => 1 + down(n + 1);
app.get("/recursion", () => down(1));
app.get("/caught", () => {
  try {
    down(1);
    return { ok: true };
  } catch {
    return { ok: false };
  }
});
app.get("/tail", () => {
  const forever = () => forever();
  return forever();
});
app.get("/pattern", () => {
  const t = new Proxy({}, { get: (_, key) => t[key + "x"] });
  return t.a;
});
app.get("/fine", () => "fine");
