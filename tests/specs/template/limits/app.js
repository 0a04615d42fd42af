import { app, render } from "sampan";

app.get("/output", () => render("large.html", { text: "x".repeat(100000) }));
app.get("/grown", () => render("grown.html"));
app.get("/endless", () => render("endless.html"));
app.get("/flat", async () => {
  const rows = [];
  for (let at = 1; at <= 20000; at++) rows.push({ name: "n", on: true });
  return String((await render("flat.html", { rows }).text()).length);
});
app.get("/rows", () => {
  const text = "x".repeat(4000000);
  return render("rows.html", { rows: [{ text }, { text }] });
});
app.get("/fine", () => app.renderString("fine"));
