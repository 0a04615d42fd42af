import { app, text } from "sampan";

app.get("/here", () => "here");
app.post("/only-post", () => "posted");
app.get("/handler", () => text("own", 404));
app.use("/wrapped/*", async (req, next) => {
  const res = await next(req);
  res.headers.set("x-seen", String(res.status));
  return res;
});
app.use("/own/*", async (req, next) => {
  await next(req);
  return text("instead", 404);
});
