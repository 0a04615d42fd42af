import { app, redirect } from "sampan";

app.post("/save", (req) => {
  req.flash("notice", "saved");
  req.flash("error", { field: "name", n: 1 });
  return redirect("/page", 303);
});
app.get("/page", (req) => {
  const first = req.flashes(), second = req.flashes();
  return { messages: first, again: second.length, keys: req.session.keys() };
});
app.get("/both", (req) => {
  const seen = req.flashes().length;
  req.flash("notice", "next");
  return { seen };
});
app.get("/bad", (req) => req.flash("notice"));
app.get("/many", (req) => { for (let i = 1; i <= 101; i++) req.flash("notice", i); });
