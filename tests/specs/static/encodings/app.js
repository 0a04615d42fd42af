import { app } from "sampan";

app.use("/tagged.css", async (req, next) => {
  const res = await next(req);
  res.headers.set("etag", '"one"');
  return res;
});
