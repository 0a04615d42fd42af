import { app, json } from "sampan";

app.use("/caught/*", async (req, next) => {
  try {
    return await next(req);
  } catch (error) {
    return json({ caught: error.message }, 418);
  }
});
app.use("/header/*", async (req, next) => {
  const res = await next(req);
  res.headers.set("x-after", "yes");
  return res;
});
app.use("/broken", () => { throw new Error("middleware broke"); });
app.get("/caught/plain", () => { throw new Error("plain trouble"); });
app.get("/caught/table", () => { throw Object.assign(new Error("table trouble"), { status: 404 }); });
app.get("/caught/fine", () => "fine");
app.get("/header/fail", () => { throw new Error("uncaught trouble"); });
