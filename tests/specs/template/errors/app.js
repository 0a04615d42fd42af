import { app, render, template, time } from "sampan";

const lists = { plain: [1, 2, 3] };

template.filter("fails", (value) => { throw new Error(`no filter for ${value}`); });
template.filter("grows", (value) => {
  for (let at = 1; at <= 10; at++) lists.plain.push(at);
  return value;
});
template.filter("shrinks", (value) => {
  lists.plain.length = 0;
  return value;
});
template.filter("waits", async (value) => {
  await time.sleep(0.001);
  return value;
});

function told(fn) {
  try {
    return fn();
  } catch (error) {
    return `${error.message}`;
  }
}

const cases = {
  undefined: () => render("undefined.html", { user: { name: "Ada" } }),
  missing: () => render("nope.html"),
  misspelt: () => render("undefind.html"),
  outside: () => render("../app.lua"),
  block: () => render("undefined.html#nope", { user: { nme: 1 } }),
  include: () => render("circle.html"),
  recursion: () => render("endless.html"),
  argument: () => render("argument.html", { list: [1], n: "x" }),
  thrown: () => render("thrown.html", { value: "x" }),
  waits: () => app.renderString("{{ 1|waits }}"),
  list: () => app.renderString("x", [1, 2]),
  number: () => app.renderString("x", 5),
  func: () => app.renderString("{{ f }}", { f: told }),
  called: () => app.renderString("{{ f() }}", { f: told }),
  itself: () => {
    const it = {};
    it.it = it;
    return app.renderString("{{ it|tojson }}", { it });
  },
  syntax: () => app.renderString("{% if %}"),
  getter: () => app.renderString("{{ name }}", { get name() { throw new Error("no name"); } }),
  late: () => template.filter("late", () => {}),
  late_func: () => template.func("late", () => {}),
  options: () => render("plain.html", {}, { stauts: 200 }),
  name: () => render(5),
};
app.get("/told", (req) => told(cases[req.query.case]));
app.get("/raised", () => render("undefined.html", { user: { name: "Ada" } }));
app.get("/grows", () => {
  lists.plain = [1, 2, 3];
  return app.renderString("{% for x in list %}{{ x|grows }} {% endfor %}{{ list|length }}", { list: lists.plain });
});
app.get("/shrinks", () => {
  lists.plain = [1, 2, 3];
  return app.renderString("{% for x in list %}{{ x|shrinks }} {{ x is defined }} {% endfor %}", { list: lists.plain });
});
app.get("/types", () => [
  "x|truncate(s)", "x|truncate(-1)", "x|truncate(5, s)", "x|truncate(5, true, 3)",
  "x|wordwrap(width=3 / 2)", "x|indent(n > 1)", "1.25|round(s)",
  "1.25|round(1, method=5)", "x|tojson(indent=[1])", "[x]|map('truncate', s)|list",
].map((text) => {
  try {
    return app.renderString(`{{ ${text} }}`, { x: "ab cd ef", s: "9", n: 9 });
  } catch (error) {
    return /the filter .*/.exec(error.message)?.[0];
  }
}));
app.get("/truth", () =>
  app.renderString("{{ x|truncate(7, n) }}|{{ y|truncate(16 / 2, 0) }}", { x: "abcdefghijklmnop", y: "ab cd efghi klmnop", n: 1 }));
