import { app } from "sampan";

app.get("/pages/:id", (req) => req.render("page.html", { title: "<Ada>" }));
app.get("/status", (req) => req.render("page.html#part", {}, { status: 404, headers: { "x-a": "b" } }));
app.get("/none", () => app.render("plain.txt"));
app.get("/there", (req) => req.render("plain.txt"));
app.get("/own", (req) => req.render("own.txt", { request: "mine" }));
app.get("/wrong", (req) => req.render(7));
app.get("/misspelt", (req) => req.render("plain.txt", {}, { stauts: 1 }));
app.use("/late", async (req, next) => {
  const res = await next(req);
  res.headers.set("x-late", "yes");
  return res;
});
app.get("/late", (req) => req.render("plain.txt", undefined, 201));
app.post("/name", (req) => {
  req.session.name = "<Ada>";
  req.flash("notice", "Saved & done");
});
app.get("/name", (req) => req.render("session.html"));
app.get("/id", (req) => req.render("id.txt"));
app.get("/fields", (req) => req.render("fields.txt"));
app.get("/outside", () => app.render("session.html"));
app.get("/outside/bare", () => app.render("bare.txt"));
app.get("/outside/given", () => app.render("session.html", { session: { name: "given" } }));
app.get("/outside/lacks", () => app.render("bare.txt", { session: {} }));
