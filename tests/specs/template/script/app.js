import { app, render, template } from "sampan";

template.filter("money", (value, currency) => `${value.toFixed(2)} ${currency ?? "CHF"}`);
template.filter("upper", (value) => `own ${value}`);
template.filter("markup", (value) => `<b>${value}</b>`);
template.filter("shape", (value) => (Array.isArray(value) || value?.constructor === Object ? "table" : value === null ? "nil" : typeof value));
template.filter("named", (value, options) => value + options.sep + options.n);
template.func("link", (owner, options) => `/owners/${owner.id}?tab=${options.tab}`);
template.func("list", () => [1, "two", { three: 3 }]);
template.func("nothing", () => {});
template.func("inner", (name) => app.renderString("[{{ name|money }}]", { name }));

app.get("/", () => render("page.html", { price: 1234.5, owner: { id: 7 }, names: ["a", "b"], flag: true }));
let wrong;
try {
  template.filter("no name", () => {});
} catch (error) {
  wrong = error.message;
}
app.get("/wrong", () => wrong);
