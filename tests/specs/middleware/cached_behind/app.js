import { app, text } from "sampan";

app.use("/members/*", (req, next) => {
  if (req.headers.get("x-token") !== "secret") return text("no", 401);
  return next(req);
});
app.use("/members/news", app.cached({ seconds: 60 }));
app.get("/members/news", () => "news");
