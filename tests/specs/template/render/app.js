import { app, db, render } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE IF NOT EXISTS owners (name TEXT, city TEXT)");
  db.exec("INSERT INTO owners VALUES ('Ada <b>', 'Zürich'), ('Bob', NULL)");
}, { once: true });

app.get("/page", (req) => render("page.html", {
  title: "Owners & pets",
  owners: db.query("SELECT name, city FROM owners ORDER BY name"),
  user: req.query.user,
  nested: { deep: { list: [1, 2, 3] } },
  half: 0.5,
}));
app.get("/created", () => app.render("page.html",
  { title: "x", owners: [], nested: { deep: { list: [] } }, half: 1 },
  { status: 201, headers: { "X-Kind": "page", "Content-Type": "text/html; charset=utf-16" } }));
app.get("/status", () => render("note.txt", { name: "<x>" }, 404));
app.get("/note", () => render("note.txt", { name: "<x>" }));
app.get("/feed", () => render("feed.xml.j2", { name: "<x>" }));
app.get("/data", () => render("data.json", { name: "a\"b</script>", list: [1, "x"] }));
app.get("/static", () => render("static.html"));
app.get("/rows", () =>
  render("page.html#rows", { title: "t", owners: db.query("SELECT name, city FROM owners ORDER BY name") }));
app.get("/string", () =>
  app.renderString("Hello {{ name }}{% if more %}!{% endif %}", { name: "<Ada>", more: true }));
app.get("/null", () =>
  app.renderString("{{ x is none }} {{ y is defined }} {{ l[0] is none }}", { x: null, y: undefined, l: [null] }));
app.use("/wrapped", async (req, next) => {
  const res = await next(req);
  res.headers.set("X-Length", String((await res.clone().text()).length));
  res.headers.set("X-Type", res.headers.get("content-type"));
  return res;
});
app.get("/wrapped", () => render("static.html"));
app.get("/fixed", render("static.html"));
