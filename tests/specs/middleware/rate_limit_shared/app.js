import { app, text } from "sampan";

app.use("/few", app.rateLimit({ limit: 2, per: 3600, shared: true, name: "few" }));
app.use("/both", app.rateLimit({ limit: 5, per: 3600, shared: true }));
app.use("/both", app.rateLimit({ limit: 1, per: 3600, key: "x-api-key", shared: true, name: "one" }));
app.use("/value", app.rateLimit({ limit: 1, per: 3600, shared: true }));
app.use("/told", app.rateLimit({ limit: 1, per: 3600, shared: true }));
app.get("/few", (req) => { req.session.n = (req.session.n ?? 0) + 1; return "in"; });
app.get("/both", () => "both");
app.get("/value", { value: true });
app.get("/told", () => "in");
app.onError((req, error) => text(`${req.path}: ${req.session.n ?? "nil"}`, { status: error.status }));
app.get("/fault", () => {
  try {
    app.rateLimit({ limit: 1, per: 1, shared: true, key: () => "a" });
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
