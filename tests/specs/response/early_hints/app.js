import { app, time } from "sampan";

app.get("/", async (req) => {
  req.earlyHints(["</app.css>; rel=preload; as=style"]);
  await time.sleep(0.01);
  return "page";
});
app.get("/wrong", (req) => req.earlyHints(["a\r\nb"]));
