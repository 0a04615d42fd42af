// What `cargo xtask bench template` measures: pages rendered from templates.
import { app, render } from "sampan";

// The rows are made once: what is measured is the rendering of them.
const items = [];
for (let id = 1; id <= 50; id++) {
  const name = id % 10 === 0 ? "Nuts & bolts" : "Item";
  items.push({ id, name: `${name} ${id}`, active: id % 3 !== 0 });
}

app.get("/simple", () => render("simple.html", { title: "Simple", heading: "Hello, <world>" }));

app.get("/loop", () => render("loop.html", { title: "Loop", items }));

app.get("/full", () => render("full.html", { title: "Stock", user: "ada", count: items.length, items }));
