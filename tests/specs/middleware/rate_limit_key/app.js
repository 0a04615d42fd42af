import { app, text, time } from "sampan";

app.use(async (req, next) => {
  const res = await next();
  res.headers.set("x-outer", "ran");
  return res;
});
app.use("/per/:user/*", app.rateLimit({ limit: 1, per: 3600, key: async (req) => {
  await time.sleep(0.001);
  const user = req.path.split("/")[2];
  if (user === "admin") return undefined;
  if (user === "seven") return 7;
  if (user === "table") return { user };
  if (user === "broken") throw new Error("no key");
  return user;
} }));
app.get("/per/:user/things", (req) => req.params.user);
app.onError((req, err) => text(`error ${err.status ?? 500}`, err.status ?? 500));
