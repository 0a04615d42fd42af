import { app, html, json } from "sampan";

app.get("/version", { version: "1.0" });
app.get("/list", []);
app.get("/text", "plain");
app.get("/number", 42);
app.get("/html", html("<p>hi</p>", { headers: { "x-fixed": "yes" } }));
app.post("/made", json({ made: true }, 201));
app.use("/wrapped/*", async (req, next) => {
  const res = await next(req);
  res.headers.set("x-wrapped", req.path);
  return res;
});
app.get("/wrapped/value", { value: 1 });
app.get("/:page", "a page");
