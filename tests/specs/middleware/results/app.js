import { app, json, text } from "sampan";

app.use("/stop", () => json({ stopped: true }, 401));
app.use("/value", () => ({ plain: "value" }));
app.use("/text", () => "text");
app.use("/nothing", async (req, next) => { await next(req); });
app.use("/silent", () => {});
app.use("/status", async (req, next) => {
  const res = await next(req);
  return new Response(res.body, { status: 203, headers: res.headers });
});
app.use("/see", async (req, next) => {
  const res = await next(req);
  return { status: res.status, own: res.headers.get("x-own") };
});
app.use("/unknown/*", async (req, next) => {
  const res = await next(req);
  return { inner: res.status };
});
app.get("/stop", () => { throw new Error("never reached"); });
app.get("/nothing", () => ({ passed: "on" }));
app.get("/status", () => ({ kept: true }));
app.get("/see", () => text("seen", { status: 201, headers: { "x-own": "yes" } }));
