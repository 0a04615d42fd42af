import { app, render } from "sampan";

const data = { name: "Ann", tree: [{ v: 1, c: [{ v: 2, c: [] }, { v: 3, c: [] }] }, { v: 2, c: [] }] };

app.get("/filters", () => render("filters.txt"));
app.get("/page", () => render("page.txt", data));
function fault(text) {
  try {
    app.renderString(text, { n: 100000 });
    return "taken";
  } catch (error) {
    return error.message.replace(/\n[^]*/, "");
  }
}
app.get("/faults", () => [
  fault("{% set l = [] %}{% for i in range(n) %}{% do l.append(i) %}{% endfor %}"),
  fault("{% set l = [1] %}{% for i in range(40) %}{% do l.append(l) %}{% endfor %}"),
  fault("{% set l = [1] %}{% do l.remove(l) %}"),
  fault("{% set d = {} %}{% do d.update({'a': 1}) %}{{ d[d] }}"),
  fault("{{ [1].pop(3) }}"), fault("{{ 'a\nb'|indent(width=100000) }}"), fault("{{ 'a'|truncate(1, 2, 3, 4, 5) }}"),
  fault("{{ 'a' * 10**9 }}"), fault("{{ (1, 2) * 10**7 }}"), fault("{{ [[1] * 60000, [1] * 60000] }}"),
]);
