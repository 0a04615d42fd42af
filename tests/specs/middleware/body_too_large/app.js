import { app } from "sampan";

app.use(app.secureHeaders());
app.use("/api/*", app.cors({ origins: ["https://app.example"] }));
app.use("/admin/*", app.bearerAuth({ tokens: { ci: "token-1" } }));
app.use("/few/*", app.rateLimit({ limit: 1, per: 3600 }));
app.onError((req, err) => ({ mine: err.message, who: req.auth ?? undefined }));
for (const path of ["/api/items", "/admin/items", "/few/items"]) {
  app.post(path, (req) => req.text());
}
