import { app, text } from "sampan";

let runs = 0;
app.use("/admin/*", async (req, next) => {
  if (req.query.key !== "let-me-in") return text("no", 401);
  const res = await next(req);
  if (req.query.change === "body") {
    const read = async () => res.text();
    const refused = await read().catch((error) => error.message);
    return text(refused.includes("a file that the server sends") ? "instead of file" : refused);
  }
  if (req.query.change === "none") return new Response();
  runs++;
  res.headers.set("x-seen", `${res.status} ${res.headers.get("content-type")}`);
  return res;
});
app.get("/runs", () => runs);
