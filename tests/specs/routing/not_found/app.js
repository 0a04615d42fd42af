import { app, text } from "sampan";

app.get("/there", () => "there");
app.notFound((req) => {
  if (req.path === "/teapot") return text("teapot", 418);
  return { nothing: req.path };
});
