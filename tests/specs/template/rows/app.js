import { app, render } from "sampan";

const heir = { name: "inherited", on: true };
const odd = [
  { id: 1, name: "a<b", on: true },
  { id: 2.5, name: "B" },
  Object.assign(Object.create(heir), { id: 3 }),
  { id: "four", name: "Cé", on: "" },
  { id: -5, name: "text of more than sixteen bytes & more", on: 0 },
  { id: 6, on: "yes", get name() { return "name of a call"; } },
  { id: 7, name: "x", on: true },
];

const many = [];
for (let id = 1; id <= 600; id++) {
  many.push({ id, name: `<${id}>`, marked: id % 128 < 2 });
}

app.get("/odd", () => render("odd.html", { rows: odd }));
app.get("/many", () => render("many.html", { rows: many }));
